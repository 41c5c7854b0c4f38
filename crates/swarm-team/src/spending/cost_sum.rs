//! Sums of usage and cost.

use std::collections::BTreeSet;
use std::fmt;

use serde::ser::{Serialize, SerializeMap, Serializer};
use swarm_protocol::{CostRecord, Money, Usage};

/// Usage and cost of several model requests.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CostSum {
    /// Number of requests.
    pub requests: u64,
    /// Tokens of all requests.
    pub usage: Usage,
    /// Cost of the requests whose models have a price.
    pub usd: Money,
    /// Tokens of the other requests.
    pub unpriced_tokens: u64,
    /// Models of the other requests.
    pub unpriced_models: BTreeSet<String>,
}

impl CostSum {
    /// Adds a request.
    pub fn add(&mut self, record: &CostRecord) {
        self.requests += 1;
        self.usage += record.usage;
        if let Some(usd) = record.usd {
            self.usd += usd;
        } else {
            self.unpriced_tokens += record.usage.total();
            self.unpriced_models.insert(record.model.clone());
        }
    }

    /// Returns the difference to an earlier sum of the same requests.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            requests: self.requests - earlier.requests,
            usage: self.usage - earlier.usage,
            usd: self.usd.saturating_sub(earlier.usd),
            unpriced_tokens: self.unpriced_tokens - earlier.unpriced_tokens,
            unpriced_models: self.unpriced_models.clone(),
        }
    }

    /// Returns the cost; `None` if no request had a price, so that it is not taken for zero.
    pub fn cost(&self) -> Option<Money> {
        (self.unpriced_tokens == 0 || !self.usd.is_zero()).then_some(self.usd)
    }
}

/// The cost: `$1.20`, `no price`, or `$1.20+` if a part of the requests has no price.
impl fmt::Display for CostSum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.cost() {
            None => f.write_str("no price"),
            Some(usd) if self.unpriced_tokens > 0 => write!(f, "{usd}+"),
            Some(usd) => usd.fmt(f),
        }
    }
}

/// `requests`, `usage`, `usd` (null without a price), and `unpriced` with `tokens` and `models` if
/// a part has no price.
impl Serialize for CostSum {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("requests", &self.requests)?;
        map.serialize_entry("usage", &self.usage)?;
        map.serialize_entry("usd", &self.cost())?;
        if self.unpriced_tokens > 0 {
            let unpriced = serde_json::json!({
                "tokens": self.unpriced_tokens, "models": self.unpriced_models,
            });
            map.serialize_entry("unpriced", &unpriced)?;
        }
        map.end()
    }
}
