//! Source as a tree with removable nodes.

use std::collections::BTreeSet;

/// Text around child nodes.
#[derive(Debug, Clone, Default)]
pub(super) struct Node {
    open: String,
    inside: Vec<Node>,
    close: String,
    /// The node can be removed alone.
    optional: bool,
}

impl Node {
    /// A removable node.
    pub(super) fn part(text: impl Into<String>) -> Self {
        Node { open: text.into(), optional: true, ..Node::default() }
    }

    /// A node that is removed only with its parent.
    pub(super) fn fixed(text: impl Into<String>) -> Self {
        Node { open: text.into(), ..Node::default() }
    }

    /// Child nodes between two texts.
    pub(super) fn around(open: impl Into<String>, inside: Vec<Node>, close: impl Into<String>) -> Self {
        Node { open: open.into(), inside, close: close.into(), optional: true }
    }

    /// Makes a node permanent.
    pub(super) fn kept(self) -> Self {
        Node { optional: false, ..self }
    }

    /// The text without the nodes of these numbers.
    pub(super) fn print(&self, without: &BTreeSet<usize>) -> String {
        let mut text = String::new();
        self.write(without, &mut 0, &mut text);
        text
    }

    fn write(&self, without: &BTreeSet<usize>, number: &mut usize, text: &mut String) {
        let left_out = without.contains(number);
        *number += 1;
        let start = text.len();
        text.push_str(&self.open);
        for node in &self.inside {
            node.write(without, number, text);
        }
        text.push_str(&self.close);
        if left_out {
            text.truncate(start);
        }
    }

    /// Numbers of removable nodes that are not in `without`, the longest first.
    pub(super) fn optional(&self, without: &BTreeSet<usize>) -> Vec<usize> {
        let mut found = Vec::new();
        self.collect(without, &mut 0, false, &mut found);
        found.sort_by_key(|(_, length)| std::cmp::Reverse(*length));
        found.into_iter().map(|(number, _)| number).collect()
    }

    /// Returns the length of the text.
    fn collect(
        &self,
        without: &BTreeSet<usize>,
        number: &mut usize,
        gone: bool,
        found: &mut Vec<(usize, usize)>,
    ) -> usize {
        let own = *number;
        let gone = gone || without.contains(&own);
        *number += 1;
        let inside: usize = self.inside.iter().map(|node| node.collect(without, number, gone, found)).sum();
        let length = if gone { 0 } else { self.open.len() + inside + self.close.len() };
        if self.optional && !gone {
            found.push((own, length));
        }
        length
    }
}

#[test]
fn pieces_are_left_out_with_all_that_is_inside() {
    let inner = Node::around("b(", vec![Node::part("c"), Node::fixed("d")], ")");
    let tree = Node::around("a[", vec![inner, Node::part("e")], "]").kept();
    let print = |without: &[usize]| tree.print(&without.iter().copied().collect());
    assert_eq!(print(&[]), "a[b(cd)e]");
    assert_eq!(print(&[1]), "a[e]");
    assert_eq!(print(&[2, 4]), "a[b(d)]");
    assert_eq!(tree.optional(&BTreeSet::new()), [1, 2, 4]);
    assert_eq!(tree.optional(&BTreeSet::from([1])), [4]);
}
