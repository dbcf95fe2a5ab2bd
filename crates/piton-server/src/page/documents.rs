//! What a browser reads: the list, a conversation, parts of it, and what a search found.

use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, header};
use axum::response::{Html, IntoResponse as _, Response};
use piton::id::{CallId, InquiryId, TurnId};
use piton::search::{Pattern, Query as Wanted};
use piton::store::{Filter, TurnIs};
use piton::view::PartView;
use piton::{ConversationId, Shelf};
use piton_page::{Filter as Shows, Hit, ListRow, Markup, Shell, Start, Window};
use serde::Deserialize;

use super::form::is_module;
use crate::fault::{Fault, Kind};
use crate::hub::{Askers, Page, RowState};
use crate::limits::{HITS_MAX, LIST_ROWS, UPLOAD_BYTES_MAX};
use crate::shared::Shared;

/// Which rows the list shows.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ListQuery {
    state: String,
    archived: String,
}

impl ListQuery {
    fn filter(&self) -> Shows {
        match self.state.as_str() {
            _ if !self.archived.is_empty() => Shows::Archive,
            "ask" => Shows::Asks,
            "running" => Shows::Running,
            "open" => Shows::Open,
            _ => Shows::All,
        }
    }
}

/// The list, and a new conversation beside it.
pub(super) async fn home(
    State(shared): State<Shared>,
    Query(query): Query<ListQuery>,
) -> Result<Html<String>, Fault> {
    document(&shared, &query, ("", None), start(&shared)).await
}

/// A new conversation.
pub(super) async fn new(State(shared): State<Shared>) -> Result<Html<String>, Fault> {
    let main = start(&shared);
    shell(&shared, &ListQuery::default(), ("New conversation", None), (main, false)).await
}

fn start(shared: &Shared) -> Markup {
    let remark = match shared.parts.agent.default_model() {
        Ok(model) if piton_agent::is_demo(&model) => {
            Some("No key was found, so the demo model answers. It is no language model.".into())
        }
        Ok(_) => None,
        Err(error) => Some(error.to_string()),
    };
    piton_page::start(&Start {
        directories: shared.parts.opened.all().collect(),
        models: shared.hub.page.models().to_vec(),
        mode: shared.parts.agent.default_mode(),
        remark,
    })
}

/// A conversation.
pub(super) async fn conversation(
    State(shared): State<Shared>,
    Path(id): Path<String>,
) -> Result<Html<String>, Fault> {
    let id = shared.known(&id).await?;
    let shown =
        show(&shared, &id, |page| (page.0.view().head.title.clone(), page.0.main(Window::Last)));
    let (title, main) = shown.await?;
    shell(&shared, &ListQuery::default(), (&title, Some(&id)), (main, false)).await
}

/// The part of it that moves.
pub(super) async fn main(
    State(shared): State<Shared>,
    Path(id): Path<String>,
) -> Result<Html<String>, Fault> {
    let id = shared.known(&id).await?;
    Ok(Html(show(&shared, &id, |page| page.0.main(Window::Last)).await?.into_string()))
}

/// Which turns are wanted.
#[derive(Debug, Deserialize)]
pub(super) struct Earlier {
    before: u32,
}

/// Earlier turns: for the module alone, else as a page.
pub(super) async fn earlier(
    State(shared): State<Shared>,
    Path(id): Path<String>,
    Query(Earlier { before }): Query<Earlier>,
    headers: HeaderMap,
) -> Result<Html<String>, Fault> {
    let (id, before) = (shared.known(&id).await?, TurnId(before));
    if is_module(&headers) {
        return Ok(Html(show(&shared, &id, |page| page.0.earlier(before)).await?.into_string()));
    }
    let shown = show(&shared, &id, |page| {
        (page.0.view().head.title.clone(), page.0.main(Window::Before(before)))
    });
    let (title, main) = shown.await?;
    shell(&shared, &ListQuery::default(), (&title, Some(&id)), (main, false)).await
}

/// All of a call.
pub(super) async fn call(
    State(shared): State<Shared>,
    Path((id, call)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let id = shared.known(&id).await?;
    let none = || Fault::not_found("there is no such call");
    let call: CallId = call.parse().map_err(|_| none())?;
    let worker = show(&shared, &id, |page| page.0.worker_of(call).cloned()).await?;
    let nested = match worker {
        Some(worker) => shared.hub.workers.conversation(&worker).show(|it| it.0.html()).await,
        None => None,
    };
    let body = show(&shared, &id, |page| page.0.call_body(call, nested)).await?.ok_or_else(none)?;
    if is_module(&headers) {
        return Ok(Html(body.into_string()).into_response());
    }
    Ok(part(&shared, &id, &format!("Call {call}"), body).await?.into_response())
}

/// All of what a question is about: what does not fit its card.
pub(super) async fn question(
    State(shared): State<Shared>,
    Path((id, question)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let (id, asked) = (shared.known(&id).await?, InquiryId::new(question));
    let body = show(&shared, &id, |page| page.0.question_body(&asked)).await?;
    let body = body.ok_or_else(|| Fault::not_found("there is no such question"))?;
    if is_module(&headers) {
        return Ok(Html(body.into_string()).into_response());
    }
    Ok(part(&shared, &id, "What is asked about", body).await?.into_response())
}

/// A part of a conversation as a page of its own, for a browser without the module.
pub(super) async fn part(
    shared: &Shared,
    id: &ConversationId,
    title: &str,
    body: Markup,
) -> Result<Html<String>, Fault> {
    shell(shared, &ListQuery::default(), (title, Some(id)), (body, false)).await
}

/// What the model wrote in a step, as it wrote it.
pub(super) async fn source(
    State(shared): State<Shared>,
    Path((id, turn, step)): Path<(String, u32, u32)>,
) -> Result<Response, Fault> {
    let id = shared.known(&id).await?;
    let found = show(&shared, &id, |page| {
        let turn = page.0.view().turns.iter().find(|it| it.head.id == TurnId(turn))?;
        let step = turn.steps().find(|it| it.number == step)?;
        let texts = step.parts.iter().filter_map(|part| match part {
            PartView::Text { text } => Some(&**text),
            PartView::Reasoning { .. } | PartView::Call { .. } | _ => None,
        });
        Some(texts.collect::<Vec<_>>().join("\n\n"))
    });
    let text = found.await?.ok_or_else(|| Fault::not_found("there is no such step"))?;
    Ok(([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response())
}

/// What is looked for.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    q: String,
}

/// What a search found.
pub(super) async fn search(
    State(shared): State<Shared>,
    Query(Asked { q }): Query<Asked>,
) -> Result<Html<String>, Fault> {
    let (found, remark) = match Pattern::exactly(&q) {
        Ok(pattern) => find(&shared, pattern).await?,
        Err(error) => (Vec::new(), error.to_string()),
    };
    let main = piton_page::hits(&q, &found, &remark);
    shell(&shared, &ListQuery::default(), ("Search", None), (main, false)).await
}

async fn find(shared: &Shared, pattern: Pattern) -> Result<(Vec<Hit>, String), Fault> {
    let wanted = Wanted { hits_max: HITS_MAX, worker: Some(false), ..Wanted::new(pattern) };
    let found = shared.search().await?.find(&wanted).await?;
    let mut hits = Vec::new();
    for hit in found.hits {
        let row = shared.engine().row(&hit.conversation).await?;
        let title = row.map(|row| row.title).unwrap_or_default();
        let place = wanted.pattern.place(&hit.line).unwrap_or_default();
        let piece = |range: std::ops::Range<usize>, is_it: bool| {
            (hit.line.get(range).unwrap_or_default().to_owned(), is_it)
        };
        let pieces = vec![
            piece(0..place.start, false),
            piece(place.start..place.end, true),
            piece(place.end..hit.line.len(), false),
        ];
        let address = format!("/c/{}#t{}", hit.conversation, hit.turn);
        let place = format!("turn {} · {}", hit.turn, hit.scope);
        hits.push(Hit { address, title, place, pieces });
    }
    let more = if found.more { " There are more." } else { "" };
    let remark = match hits.len() {
        0 => "Nothing was found.".into(),
        count => format!("{count} found.{more}"),
    };
    Ok((hits, remark))
}

/// Shows a conversation as those see it who follow it.
async fn show<T>(
    shared: &Shared,
    id: &ConversationId,
    show: impl FnOnce(&Page) -> T,
) -> Result<T, Fault> {
    let shown = shared.hub.page.conversation(id).show(show).await;
    shown.ok_or_else(|| Fault::new(Kind::Store, "the conversation cannot be read"))
}

async fn document(
    shared: &Shared,
    query: &ListQuery,
    about: (&str, Option<&ConversationId>),
    main: Markup,
) -> Result<Html<String>, Fault> {
    shell(shared, query, about, (main, true)).await
}

async fn shell(
    shared: &Shared,
    query: &ListQuery,
    (title, current): (&str, Option<&ConversationId>),
    (main, is_list): (Markup, bool),
) -> Result<Html<String>, Fault> {
    let shown = query.filter();
    let is_open = matches!(shown, Shows::Asks | Shows::Running | Shows::Open);
    let turn = is_open.then_some(TurnIs::Open);
    let shelf = if shown == Shows::Archive { Shelf::Archived } else { Shelf::Listed };
    let filter = Filter { turn, worker: Some(false), shelf: Some(shelf), ..Filter::default() };
    let list = shared.engine().list(filter, None, LIST_ROWS).await?;
    let askers = Askers::now(shared.engine()).await?;
    let mut rows: Vec<_> = list.rows.iter().map(|row| askers.view(row)).collect();
    match shown {
        Shows::Running => rows.retain(|row| row.state == RowState::Running),
        // Also those that a worker asks for.
        Shows::Asks => rows.retain(|row| row.state == RowState::Asking),
        Shows::All | Shows::Open | Shows::Archive => {}
    }
    let rows: Vec<_> = rows.iter().map(ListRow::from).collect();
    let current = current.map(ConversationId::as_str);
    Ok(Html(piton_page::document(&Shell {
        title,
        list: piton_page::list(&rows, current, shown),
        main,
        is_list,
        build: env!("CARGO_PKG_VERSION"),
        list_cursor: &list.position.0.to_string(),
        file_bytes_max: UPLOAD_BYTES_MAX as u64,
        silence: shared.silence(),
    })))
}
