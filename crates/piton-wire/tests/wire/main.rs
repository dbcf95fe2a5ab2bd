#![cfg(test)]
//! Dialects against streams written for them, and against recorded ones where those are at hand.

mod broken_streams;
mod efforts;
mod files;
mod recorded;
mod transcripts;

mod anthropic;
mod gemini;
mod openai_chat;
mod openai_responses;
