//! `OpenAI` Responses, stateless, and the Codex variant of it.
