use super::*;

/// Bytes of a page, and of half a one.
const PAGE: usize = PAGE_BYTES;
const HALF: usize = PAGE / 2;

/// Contents of several lengths, each pair different in every byte.
fn pairs() -> Vec<(Vec<u8>, Vec<u8>)> {
    let lengths = [0, HALF, PAGE, PAGE + HALF, 2 * PAGE, 3 * PAGE + HALF];
    let pairs = lengths.iter().flat_map(|old| lengths.map(|new| (*old, new)));
    pairs.map(|(old, new)| (vec![b'o'; old], vec![b'n'; new])).collect()
}

/// What [`write`] leaves when it dies: after each page, before it cuts the rest off, and after.
fn deaths(file: &[u8], content: &[u8]) -> Vec<Vec<u8>> {
    let pages = (0..content.len()).step_by(PAGE).chain([content.len()]);
    let mut states: Vec<Vec<u8>> = pages
        .map(|done| {
            let behind = file.get(done..).unwrap_or_default();
            [content.get(..done).unwrap_or_default(), behind].concat()
        })
        .collect();
    states.push(content.to_vec());
    states
}

#[test]
fn what_dead_runs_left_half_way_is_known_however_many_died() {
    let mut tried = 0;
    for (old, new) in pairs() {
        // Overwritten, put back, and put back again.
        for first in deaths(&old, &new) {
            for second in deaths(&first, &old) {
                for third in deaths(&second, &old) {
                    for torn in [&first, &second, &third] {
                        assert!(is_torn(torn, &old, &new), "{} {}", old.len(), new.len());
                        tried += 1;
                    }
                }
            }
        }
    }
    assert!(1_000 < tried, "{tried}");
}

#[test]
fn what_a_power_cut_left_of_any_pages_is_known() {
    let (old, new) = (vec![b'o'; 3 * PAGE], vec![b'n'; 2 * PAGE + HALF]);
    for kept in 0..8_u8 {
        let mut file = old.clone();
        for page in (0..3).filter(|page| kept & (1 << page) != 0) {
            let (from, to) = (page * PAGE, ((page + 1) * PAGE).min(new.len()));
            file[from..to].copy_from_slice(&new[from..to]);
        }
        assert!(is_torn(&file, &old, &new), "{kept:b}");
    }
}

#[test]
fn what_somebody_else_wrote_is_not_ours() {
    for foreign in ["xaaa", "bbxa", "bbaax", "bba", "aaaab", "bbaa", "aaaabbb"] {
        assert!(!is_torn(foreign.as_bytes(), b"aaaa", b"bbbbbb"), "{foreign}");
    }
    // Both lines were changed, and somebody took one of them back.
    let (old, new) = ("one = 1\ntwo = 2\n", "one = 5\ntwo = 6\n");
    for theirs in ["one = 5\ntwo = 2\n", "one = 1\ntwo = 6\n"] {
        assert!(!is_torn(theirs.as_bytes(), old.as_bytes(), new.as_bytes()), "{theirs}");
    }
    for (old, new) in pairs() {
        for at in (0..old.len()).step_by(HALF) {
            let mut theirs = old.clone();
            theirs[at] = b'x';
            assert!(!is_torn(&theirs, &old, &new), "{at} {} {}", old.len(), new.len());
        }
        if let Some((_, shorter)) = old.split_last() {
            assert!(!is_torn(shorter, &old, &new), "{} {}", old.len(), new.len());
        }
    }
}
