//! The page: a conversation as HTML, and what moves it.
//!
//! Everything here is made of views: no clock, no I/O, no journal. A [`Renderer`] holds one conversation and
//! draws it for everybody who looks at it; each change of the view becomes one [`Frame`], and a page that
//! takes the frames shows what a page that is drawn anew shows. `assets` has the style and the module that
//! apply them; without the module every form is a plain POST. Nothing personal is in what is drawn.
//!
//! Modules are listed in reading order.

mod renderer;
mod turn;

mod message;
mod step;

mod call;
mod changed;
mod nested;

mod halt;
mod question;
mod undo;

mod bar;
mod dock;

mod document;
mod list;

mod scene;

mod frame;
mod live;
mod part;

mod code;
mod diff;
mod markdown;

mod icon;
mod ident;
mod visible;
mod when;
mod words;

pub mod assets;

pub use self::document::{Hit, Shell, Start, document, hits, problem, sign_in, start};
pub use self::frame::{Frame, Op};
pub use self::list::{Filter, Is, ListRow, list, list_frame, list_without};
pub use self::nested::Nested;
pub use self::renderer::{Renderer, Window};
pub use self::scene::Model;
pub use self::undo::{Change, Fate, back, undo};
pub use self::words::stands_still;
pub use maud::{Markup, PreEscaped};
