//! A request, rendered once; only its id changes from one sending to the next.

use crate::endpoint::Endpoint;
use crate::stored::TaskName;

/// How many ids there are; all have four digits, so that no length changes.
pub(crate) const IDS: u32 = 1024;
/// What stands for the id in a body that is to be rendered.
pub(crate) const ID: &str = "@ID@";
/// What stands for the name of a task, as long as one is, in a header and in a body.
pub(crate) const TASK: &str = "@TASK-TASK-TASK-TASK-TASK-TASK-TASK@";
/// The id of a request that nobody has given another one.
pub(crate) const FIRST_ID: u32 = 1000;

/// The bytes of a request, ready to be sent.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    bytes: Vec<u8>,
    /// Where the id is, if it has one.
    id: Option<usize>,
    /// Where the name of a task is.
    tasks: Vec<usize>,
}

/// The ids of one of many lanes: no two lanes ever share one, so that no two requests
/// in flight do.
#[derive(Clone, Debug)]
pub(crate) struct Ids {
    lane: u32,
    lanes: u32,
    next: u32,
}

impl Request {
    /// Renders a request; an [`ID`] in its body becomes the first id.
    pub(crate) fn new(
        method: &str,
        endpoint: &Endpoint,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Self {
        let Endpoint { address, path } = endpoint;
        let mut text = format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\n");
        for (name, value) in headers {
            text.push_str(name);
            text.push_str(": ");
            text.push_str(value);
            text.push_str("\r\n");
        }
        text.push_str("Content-Length: ");
        text.push_str(&body.len().to_string());
        text.push_str("\r\n\r\n");
        let id = body.find(ID).map(|at| at + text.len());
        text.push_str(body);
        let mut request = Self {
            tasks: text.match_indices(TASK).map(|(at, _)| at).collect(),
            bytes: text.into_bytes(),
            id,
        };
        request.set_id(FIRST_ID);
        request
    }

    /// Gives the request another id of four digits.
    pub(crate) fn set_id(&mut self, id: u32) {
        let place = self.id.and_then(|at| self.bytes.get_mut(at..at + ID.len()));
        let mut rest = id;
        for digit in place.into_iter().flatten().rev() {
            *digit = b'0' + u8::try_from(rest % 10).unwrap_or_default();
            rest /= 10;
        }
    }

    /// Lets the request name another task.
    pub(crate) fn set_task(&mut self, name: &TaskName) {
        for at in &self.tasks {
            if let Some(place) = self.bytes.get_mut(*at..at + TASK.len()) {
                place.copy_from_slice(name);
            }
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl Ids {
    /// Returns the ids of lane number `lane` of `lanes`, which are at most [`IDS`].
    pub(crate) const fn of(lane: u32, lanes: u32) -> Self {
        Self {
            lane,
            lanes,
            next: lane,
        }
    }

    /// Returns the next id; they come again and again.
    pub(crate) const fn take(&mut self) -> u32 {
        let id = FIRST_ID + self.next;
        self.next += self.lanes;
        if self.next >= IDS {
            self.next = self.lane;
        }
        id
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::stored;

    #[test]
    fn another_id_changes_nothing_else() {
        let endpoint = Endpoint {
            address: ([127, 0, 0, 1], 80).into(),
            path: "/mcp".to_owned(),
        };
        let mut request = Request::new("POST", &endpoint, &[("A", "b")], r#"{"id":@ID@}"#);
        let text = |request: &Request| String::from_utf8(request.bytes().to_vec()).expect("text");

        let before = text(&request);
        request.set_id(2023);

        assert_eq!(
            before,
            "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:80\r\nA: b\r\nContent-Length: 11\r\n\r\n{\"id\":1000}"
        );
        assert_eq!(text(&request), before.replace(":1000}", ":2023}"));
    }

    #[test]
    fn another_task_is_named_wherever_one_is() {
        let endpoint = Endpoint {
            address: ([127, 0, 0, 1], 80).into(),
            path: "/mcp".to_owned(),
        };
        let body = format!(r#"{{"id":@ID@,"task":"{TASK}"}}"#);
        let mut request = Request::new("POST", &endpoint, &[("Mcp-Name", TASK)], &body);
        let length = request.bytes().len();

        request.set_task(&stored::name(7));

        let text = String::from_utf8(request.bytes().to_vec()).expect("text");
        let name = String::from_utf8(stored::name(7).to_vec()).expect("text");
        assert_eq!(text.len(), length);
        assert_eq!(text.matches(&name).count(), 2);
        assert!(!text.contains("TASK") && text.contains(r#""id":1000"#));
    }

    #[test]
    fn lanes_share_no_id_and_use_all_of_them() {
        let lanes = 32;
        let mut seen = HashSet::new();

        for lane in 0..lanes {
            let mut ids = Ids::of(lane, lanes);
            let own: Vec<u32> = (0..IDS / lanes).map(|_| ids.take()).collect();
            assert_eq!(ids.take(), own[0], "they come again");
            assert!(own.into_iter().all(|id| seen.insert(id)), "lane {lane}");
        }

        assert_eq!(seen.len(), 1024);
        assert!(seen.iter().all(|id| (1000..2024).contains(id)));
    }
}
