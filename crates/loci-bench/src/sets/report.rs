//! The figures, for people and for programs.

use serde_json::{Value, json};

use super::ask::{DEPTHS, Hits};
use super::data::About;
use crate::arguments;
use crate::laboratory::Laboratory;

/// The hits of one tool in one set.
pub struct Row {
    /// The set.
    pub set: About,
    /// The tool.
    pub tool: &'static str,
    /// The number of questions asked.
    pub questions: usize,
    /// The hits of the tool.
    pub loci: Hits,
    /// The hits of only the words.
    pub words: Hits,
    /// The hits of only the vectors.
    pub vectors: Hits,
}

impl Row {
    /// Returns the share of the questions at each depth.
    fn shares(&self, hits: Hits) -> [f64; DEPTHS.len()] {
        hits.0
            .map(|hits| hits as f64 / self.questions.max(1) as f64)
    }

    /// Returns the depths at which only the words or only the vectors have more hits than the tool.
    fn behind_at(&self) -> Vec<usize> {
        let best = |index: usize| self.words.0[index].max(self.vectors.0[index]);
        DEPTHS
            .iter()
            .enumerate()
            .filter(|(index, _)| self.loci.0[*index] < best(*index))
            .map(|(_, depth)| *depth)
            .collect()
    }

    fn value(&self) -> Value {
        json!({
            "set": self.set.name,
            "kind": self.set.kind,
            "tool": self.tool,
            "questions": self.questions,
            "loci": self.shares(self.loci),
            "words": self.shares(self.words),
            "vectors": self.shares(self.vectors),
            "behind_at": self.behind_at(),
        })
    }
}

/// Returns the report as JSON, with the settings of the run.
pub fn value(rows: &[Row], options: &arguments::Sets, laboratory: &Laboratory<'_>) -> Value {
    json!({
        "suite": "sets",
        "loci": env!("CARGO_PKG_VERSION"),
        "model": laboratory.model(),
        "search": laboratory.search(),
        "half": options.half,
        "depths": DEPTHS,
        "rows": rows.iter().map(Row::value).collect::<Value>(),
    })
}

/// Returns the report as a table.
pub fn text(rows: &[Row], half: &str) -> String {
    let depths = DEPTHS
        .map(|depth| format!("{:>6}", format!("@{depth}")))
        .concat();
    let heads = ["loci", "words alone", "vectors alone"]
        .map(|name| format!("  {name:18}"))
        .concat();
    let mut text = format!(
        "{:18} {:16} {:>9}{heads}  behind at\n",
        "set", "tool", "questions"
    );
    text += &format!(
        "{:18} {:16} {half:>9}{}\n",
        "",
        "",
        format!("  {depths}").repeat(3)
    );
    for row in rows {
        text += &format!("{:18} {:16} {:>9}", row.set.name, row.tool, row.questions);
        for hits in [row.loci, row.words, row.vectors] {
            text += "  ";
            row.shares(hits)
                .iter()
                .for_each(|share| text += &format!(" {share:>5.3}"));
        }
        let behind: Vec<String> = row.behind_at().iter().map(usize::to_string).collect();
        text += &format!("  {}\n", behind.join(" "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sets::StoringTools;

    #[test]
    fn a_tool_is_behind_where_its_parts_have_more_hits() {
        let set = About {
            name: "made-up".to_owned(),
            kind: "facts".to_owned(),
            through: StoringTools::Facts,
        };
        let hits = |loci, words, vectors| Row {
            set: set.clone(),
            tool: "recall",
            questions: 4,
            loci: Hits(loci),
            words: Hits(words),
            vectors: Hits(vectors),
        };
        let row = hits([1, 3, 4], [1, 2, 2], [2, 3, 4]);
        assert_eq!(
            (row.behind_at(), row.shares(row.loci)),
            (vec![1], [0.25, 0.75, 1.0])
        );
        assert_eq!(
            hits([1, 3, 4], [1, 3, 4], [0, 3, 4]).behind_at(),
            [] as [usize; 0]
        );
        assert_eq!(hits([0, 0, 0], [1, 3, 4], [0, 3, 4]).behind_at(), DEPTHS);
    }
}
