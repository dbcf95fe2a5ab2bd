//! The task list of a conversation, readable without colour.

use anstyle::Style as Look;
use piton_core::view::{Task, TaskStatus};

use super::paint::{Line, Page, Span};
use super::wrap::wrap;

/// What stands in front of a task; further lines of it begin below its first letter.
const INDENT: &str = "      ";

/// The list, with a line on how far it is.
pub(crate) fn listed(tasks: &[Task], page: Page) -> Vec<Line> {
    let done = tasks.iter().filter(|task| task.status == TaskStatus::Done).count();
    let head = match tasks.len() {
        0 => "Plan: no tasks.".to_owned(),
        count => format!("Plan, {done} of {count} done:"),
    };
    let mut lines = vec![vec![Span::plain(&head)]];
    for task in tasks {
        let (mark, look) = match task.status {
            TaskStatus::Done => ("[x]", Look::new().dimmed()),
            TaskStatus::InProgress => ("[>]", Look::new().bold()),
            TaskStatus::Pending | _ => ("[ ]", Look::new()),
        };
        let columns = page.columns.saturating_sub(INDENT.len());
        let step = wrap(&[Span::new(&task.step, look)], columns);
        for (number, line) in step.into_iter().enumerate() {
            let front = if number == 0 { format!("  {mark} ") } else { INDENT.to_owned() };
            lines.push([Span::new(&front, look)].into_iter().chain(line).collect());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::paint::{Painted, Style};

    fn task(step: &str, status: TaskStatus) -> Task {
        Task { step: step.into(), status }
    }

    fn shown(tasks: &[Task], columns: usize) -> String {
        let page = Page { columns, style: Style::Plain };
        Painted::lines(&listed(tasks, page), page.style).as_str().to_owned()
    }

    #[test]
    fn a_list_is_readable_without_colour() {
        let tasks = [
            task("look at the code", TaskStatus::Done),
            task("change it", TaskStatus::InProgress),
            task("run the tests", TaskStatus::Pending),
        ];
        let expected =
            "Plan, 1 of 3 done:\n  [x] look at the code\n  [>] change it\n  [ ] run the tests\n";
        assert_eq!(shown(&tasks, 80), expected);
        assert_eq!(shown(&[], 80), "Plan: no tasks.\n");
    }

    #[test]
    fn a_long_task_goes_on_below_its_first_letter_and_forges_no_line() {
        let tasks = [task("one two three\n[x] four", TaskStatus::Pending)];
        let expected = "Plan, 0 of 1 done:\n  [ ] one two\n      three [x]\n      four\n";
        assert_eq!(shown(&tasks, 16), expected);
    }
}
