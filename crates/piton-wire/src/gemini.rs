//! Gemini `streamGenerateContent`.
