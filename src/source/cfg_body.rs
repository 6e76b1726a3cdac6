//! `cfg` in bodies of functions, applied where the code is read.

use syn::{Attribute, Block, Expr, Stmt};

use super::cfg::{Cfg, CfgSet, attrs_mut};

impl CfgSet {
    /// Takes what is off out of a block: statements, arms and fields. What is not decided keeps its `#[cfg]`.
    pub fn apply_to_block(&self, block: &mut Block) {
        block.stmts.retain_mut(|stmt| {
            let attributes = match stmt {
                Stmt::Local(local) => Some(&mut local.attrs),
                Stmt::Item(item) => attrs_mut(item),
                Stmt::Expr(expr, _) => attributes(expr),
                Stmt::Macro(call) => Some(&mut call.attrs),
            };
            attributes.is_none_or(|attributes| self.apply(attributes) != Cfg::Off)
        });
        for stmt in &mut block.stmts {
            match stmt {
                Stmt::Local(local) => {
                    if let Some(init) = &mut local.init {
                        self.apply_to_expr(&mut init.expr);
                    }
                }
                Stmt::Expr(expr, _) => self.apply_to_expr(expr),
                Stmt::Item(_) | Stmt::Macro(_) => {}
            }
        }
    }

    /// The same inside an expression.
    pub fn apply_to_expr(&self, expr: &mut Expr) {
        match expr {
            Expr::Block(expr) => self.apply_to_block(&mut expr.block),
            Expr::If(branch) => {
                self.apply_to_expr(&mut branch.cond);
                self.apply_to_block(&mut branch.then_branch);
                if let Some((_, other)) = &mut branch.else_branch {
                    self.apply_to_expr(other);
                }
            }
            Expr::Match(choice) => {
                choice.arms.retain_mut(|arm| self.apply(&mut arm.attrs) != Cfg::Off);
                choice.arms.iter_mut().for_each(|arm| self.apply_to_expr(&mut arm.body));
            }
            Expr::Struct(literal) => {
                let fields = std::mem::take(&mut literal.fields).into_iter();
                let fields = fields.filter_map(|mut field| (self.apply(&mut field.attrs) != Cfg::Off).then_some(field));
                literal.fields = fields.collect();
                literal.fields.iter_mut().for_each(|field| self.apply_to_expr(&mut field.expr));
            }
            Expr::Call(call) => call.args.iter_mut().for_each(|argument| self.apply_to_expr(argument)),
            Expr::MethodCall(call) => {
                self.apply_to_expr(&mut call.receiver);
                call.args.iter_mut().for_each(|argument| self.apply_to_expr(argument));
            }
            Expr::Paren(inner) => self.apply_to_expr(&mut inner.expr),
            Expr::Reference(inner) => self.apply_to_expr(&mut inner.expr),
            Expr::Return(inner) => {
                if let Some(expr) = &mut inner.expr {
                    self.apply_to_expr(expr);
                }
            }
            _ => {}
        }
    }
}

/// The attributes of an expression that stands for a statement.
fn attributes(expr: &mut Expr) -> Option<&mut Vec<Attribute>> {
    Some(match expr {
        Expr::Assign(expr) => &mut expr.attrs,
        Expr::Block(expr) => &mut expr.attrs,
        Expr::Call(expr) => &mut expr.attrs,
        Expr::ForLoop(expr) => &mut expr.attrs,
        Expr::If(expr) => &mut expr.attrs,
        Expr::Lit(expr) => &mut expr.attrs,
        Expr::Macro(expr) => &mut expr.attrs,
        Expr::Match(expr) => &mut expr.attrs,
        Expr::MethodCall(expr) => &mut expr.attrs,
        Expr::Path(expr) => &mut expr.attrs,
        Expr::Return(expr) => &mut expr.attrs,
        Expr::Struct(expr) => &mut expr.attrs,
        _ => return None,
    })
}
