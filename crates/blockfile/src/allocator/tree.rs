//! The max-hole-size tree: an AVL tree of holes by offset, with the largest hole of each subtree.
//!
//! A search for a size needs no comparison of offsets: if the left subtree has a hole large enough,
//! the lowest one is there; else it is this node if it fits, else it is on the right. Nodes lie in
//! an arena and are linked by index. The recursion is as deep as the tree is high, at most
//! 1.45 log2(2^31), which is below 46.

use pelorus_error::{Error, Result};

use super::Extent;

/// The index of no node.
const NIL: u32 = u32::MAX;

/// No path is longer: there are fewer than 2^31 holes, since they do not touch.
const HEIGHT_MAX: usize = 48;

#[derive(Clone, Copy, Debug)]
struct Node {
    hole: Extent,
    /// The largest hole of the subtree, in units.
    max: u32,
    left: u32,
    right: u32,
    height: u8,
}

/// Holes by offset.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    vacant: Vec<u32>,
    root: u32,
    visited: u64,
}

impl Tree {
    /// A perfectly balanced tree of sorted holes.
    pub(super) fn build(holes: &[Extent]) -> Self {
        let nodes = Vec::with_capacity(holes.len());
        let mut tree = Self { nodes, vacant: Vec::new(), root: NIL, visited: 0 };
        tree.root = tree.build_part(holes);
        tree
    }

    fn build_part(&mut self, holes: &[Extent]) -> u32 {
        let middle = holes.len() / 2;
        let Some(&hole) = holes.get(middle) else { return NIL };
        let left = self.build_part(&holes[..middle]);
        let right = self.build_part(&holes[middle + 1..]);
        let at = self.add(hole);
        self.node_mut(at).left = left;
        self.node_mut(at).right = right;
        self.update(at);
        at
    }

    pub(super) fn visited(&self) -> u64 {
        self.visited
    }

    /// The lowest hole of at least `units`; none for 0.
    pub(super) fn first_fit(&mut self, units: u32) -> Option<Extent> {
        let mut at = self.root;
        if units == 0 || self.max(at) < units {
            return None;
        }
        loop {
            self.visited += 1;
            let node = *self.node(at);
            if self.max(node.left) >= units {
                at = node.left;
            } else if node.hole.units >= units {
                return Some(node.hole);
            } else {
                at = node.right;
            }
        }
    }

    /// The highest hole.
    pub(super) fn last(&mut self) -> Option<Extent> {
        self.visited += u64::from(self.height(self.root));
        self.iter_last()
    }

    /// The highest hole, without counting a visit.
    pub(super) fn iter_last(&self) -> Option<Extent> {
        let mut found = None;
        let mut at = self.root;
        while at != NIL {
            found = Some(self.node(at).hole);
            at = self.node(at).right;
        }
        found
    }

    /// The holes next below and next above an offset that lies in no hole.
    pub(super) fn neighbours(&mut self, start: u32) -> (Option<Extent>, Option<Extent>) {
        let (mut before, mut after) = (None, None);
        let mut at = self.root;
        while at != NIL {
            self.visited += 1;
            let node = *self.node(at);
            if node.hole.start < start {
                before = Some(node.hole);
                at = node.right;
            } else {
                after = Some(node.hole);
                at = node.left;
            }
        }
        (before, after)
    }

    /// Replaces the existing hole at `start` by another; the order of holes stays the same.
    pub(super) fn replace(&mut self, start: u32, hole: Extent) {
        let mut path = [NIL; HEIGHT_MAX];
        let mut depth = 0;
        let mut at = self.root;
        loop {
            self.visited += 1;
            path[depth] = at;
            depth += 1;
            let node = self.node(at);
            match start.cmp(&node.hole.start) {
                std::cmp::Ordering::Less => at = node.left,
                std::cmp::Ordering::Equal => break,
                std::cmp::Ordering::Greater => at = node.right,
            }
        }
        self.node_mut(at).hole = hole;
        for at in path[..depth].iter().rev() {
            let before = self.node(*at).max;
            self.update(*at);
            // Nothing changes further up.
            if self.node(*at).max == before {
                break;
            }
        }
    }

    pub(super) fn insert(&mut self, hole: Extent) {
        self.root = self.insert_in(self.root, hole);
    }

    fn insert_in(&mut self, at: u32, hole: Extent) -> u32 {
        if at == NIL {
            return self.add(hole);
        }
        self.visited += 1;
        let node = *self.node(at);
        if hole.start < node.hole.start {
            let left = self.insert_in(node.left, hole);
            self.node_mut(at).left = left;
        } else {
            let right = self.insert_in(node.right, hole);
            self.node_mut(at).right = right;
        }
        self.balance(at)
    }

    /// Removes the existing hole at `start`.
    pub(super) fn remove(&mut self, start: u32) {
        self.root = self.remove_in(self.root, start);
    }

    fn remove_in(&mut self, at: u32, start: u32) -> u32 {
        self.visited += 1;
        let node = *self.node(at);
        if start < node.hole.start {
            let left = self.remove_in(node.left, start);
            self.node_mut(at).left = left;
            return self.balance(at);
        }
        if start > node.hole.start {
            let right = self.remove_in(node.right, start);
            self.node_mut(at).right = right;
            return self.balance(at);
        }
        self.vacant.push(at);
        if node.left == NIL {
            return node.right;
        }
        if node.right == NIL {
            return node.left;
        }
        let (lowest, right) = self.detach_lowest(node.right);
        self.node_mut(lowest).left = node.left;
        self.node_mut(lowest).right = right;
        self.balance(lowest)
    }

    /// Takes the lowest node out of a subtree; returns it and the rest.
    fn detach_lowest(&mut self, at: u32) -> (u32, u32) {
        self.visited += 1;
        let node = *self.node(at);
        if node.left == NIL {
            return (at, node.right);
        }
        let (lowest, left) = self.detach_lowest(node.left);
        self.node_mut(at).left = left;
        (lowest, self.balance(at))
    }

    fn add(&mut self, hole: Extent) -> u32 {
        let node = Node { hole, max: hole.units, left: NIL, right: NIL, height: 1 };
        if let Some(at) = self.vacant.pop() {
            *self.node_mut(at) = node;
            return at;
        }
        self.nodes.push(node);
        // Holes do not touch, so there are at most 2^31 of them.
        u32::try_from(self.nodes.len() - 1).expect("there are fewer holes than units")
    }

    // Links only ever name nodes of the arena, or none.
    fn node(&self, at: u32) -> &Node {
        &self.nodes[at as usize]
    }

    fn node_mut(&mut self, at: u32) -> &mut Node {
        &mut self.nodes[at as usize]
    }

    fn max(&self, at: u32) -> u32 {
        if at == NIL { 0 } else { self.node(at).max }
    }

    fn height(&self, at: u32) -> u8 {
        if at == NIL { 0 } else { self.node(at).height }
    }

    /// Computes label and height of a node from its children.
    fn update(&mut self, at: u32) {
        let node = *self.node(at);
        let max = node.hole.units.max(self.max(node.left)).max(self.max(node.right));
        let height = 1 + self.height(node.left).max(self.height(node.right));
        let node = self.node_mut(at);
        (node.max, node.height) = (max, height);
    }

    /// Restores the balance of a node whose subtrees are balanced; returns the new root.
    fn balance(&mut self, at: u32) -> u32 {
        let node = *self.node(at);
        let (left, right) = (self.height(node.left), self.height(node.right));
        if left > right + 1 {
            let child = *self.node(node.left);
            if self.height(child.left) < self.height(child.right) {
                let turned = self.rotate_left(node.left);
                self.node_mut(at).left = turned;
            }
            return self.rotate_right(at);
        }
        if right > left + 1 {
            let child = *self.node(node.right);
            if self.height(child.right) < self.height(child.left) {
                let turned = self.rotate_right(node.right);
                self.node_mut(at).right = turned;
            }
            return self.rotate_left(at);
        }
        self.update(at);
        at
    }

    fn rotate_left(&mut self, at: u32) -> u32 {
        let up = self.node(at).right;
        self.node_mut(at).right = self.node(up).left;
        self.node_mut(up).left = at;
        self.update(at);
        self.update(up);
        up
    }

    fn rotate_right(&mut self, at: u32) -> u32 {
        let up = self.node(at).left;
        self.node_mut(at).left = self.node(up).right;
        self.node_mut(up).right = at;
        self.update(at);
        self.update(up);
        up
    }

    pub(super) fn to_vec(&self) -> Vec<Extent> {
        let mut holes = Vec::with_capacity(self.nodes.len() - self.vacant.len());
        self.collect(self.root, &mut holes);
        holes
    }

    fn collect(&self, at: u32, holes: &mut Vec<Extent>) {
        if at != NIL {
            self.collect(self.node(at).left, holes);
            holes.push(self.node(at).hole);
            self.collect(self.node(at).right, holes);
        }
    }

    /// Verifies order, labels, heights and balance.
    pub(super) fn check(&self) -> Result<()> {
        self.check_part(self.root)?;
        if self.to_vec().is_sorted() { Ok(()) } else { Err(Error::internal("I1: holes unsorted")) }
    }

    fn check_part(&self, at: u32) -> Result<(u32, u8)> {
        if at == NIL {
            return Ok((0, 0));
        }
        let node = self.node(at);
        let (left_max, left) = self.check_part(node.left)?;
        let (right_max, right) = self.check_part(node.right)?;
        if node.max != node.hole.units.max(left_max).max(right_max) {
            return Err(Error::internal(format!("I2: label of the hole at {}", node.hole.start)));
        }
        if node.height != 1 + left.max(right) || left.abs_diff(right) > 1 {
            return Err(Error::internal(format!("I5: balance at {}", node.hole.start)));
        }
        Ok((node.max, node.height))
    }
}
