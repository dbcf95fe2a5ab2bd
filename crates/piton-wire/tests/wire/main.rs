#![cfg(test)]
//! Dialects against streams written for them, and against recorded ones where those are at hand.

mod answer_room;
mod broken_streams;
mod caches;
mod efforts;
mod files;
mod names;
mod opaque;
mod recorded;
mod repaired;
mod schemas;
mod transcripts;

mod anthropic;
mod gemini;
mod journals;
mod openai_chat;
mod openai_responses;
