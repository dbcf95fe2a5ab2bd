#![cfg(test)]
//! Dialects against streams written for them, and against recorded ones where those are at hand.

#[expect(dead_code, reason = "used by the dialects' tests")]
mod recorded;
mod transcripts;

mod anthropic;
mod gemini;
mod openai_chat;
mod openai_responses;
