//! Many processes that want one lease: one after another, and in the order of their tokens.

use std::fs;

use super::shop::Shop;
use crate::support::Running;

const PROCESSES: usize = 4;
const ROUNDS: usize = 5;

#[test]
fn one_at_a_time_and_tokens_in_their_order() {
    let shop = Shop::new();
    fs::write(shop.path("count"), "0\n").unwrap();
    // Reading and writing apart: two at once would lose a step.
    let script = "n=$(cat count); sleep 0.02; echo $((n + 1)) > count; echo $BYGONE_FENCING_TOKEN >> tokens";
    let arguments = ["lease", "exec", "--key", "k", "--wait", "forever", "--", "sh", "-c", script];
    for _ in 0..ROUNDS {
        let running: Vec<Running> = (0..PROCESSES).map(|_| Running::start(&mut shop.bygone(&arguments))).collect();
        for running in running {
            running.end().ends(0);
        }
    }
    assert_eq!(fs::read_to_string(shop.path("count")).unwrap().trim(), (PROCESSES * ROUNDS).to_string());
    let tokens: Vec<u64> =
        fs::read_to_string(shop.path("tokens")).unwrap().lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(tokens.len(), PROCESSES * ROUNDS);
    assert!(tokens.windows(2).all(|pair| pair[0] < pair[1]), "{tokens:?}");
}
