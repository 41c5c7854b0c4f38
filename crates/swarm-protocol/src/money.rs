//! Amounts of money, prices of models, and the records of `cost.jsonl`, in US dollars.

use std::fmt;
use std::ops::{Add, AddAssign};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{CacheLifetime, MemberName, ReservationId, TaskId, UnixMs, Usage};

/// Billionths of a dollar in a dollar.
const NANOS: f64 = 1e9;

/// Tokens to which prices refer.
const MILLION: f64 = 1e6;

/// An amount of money: whole billionths of a US dollar, so that sums are exact. As JSON a number of
/// dollars.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub struct Money(u64);

impl Money {
    /// Returns an amount of dollars, rounded to a billionth; `None` for a negative or infinite one.
    pub fn dollars(amount: f64) -> Option<Self> {
        let nanos = (amount * NANOS).round();
        // Above this, an f64 does not represent every whole number.
        let is_valid = nanos.is_finite() && (0.0..=9e15).contains(&nanos);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the range is checked above"
        )]
        is_valid.then_some(Self(nanos as u64))
    }

    /// Returns the amount in dollars.
    #[expect(clippy::cast_precision_loss, reason = "exact up to 9 million dollars")]
    pub fn as_dollars(self) -> f64 {
        self.0 as f64 / NANOS
    }

    /// Returns whether this is no money.
    pub fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Returns the difference, or zero if `other` is larger.
    #[must_use]
    pub fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add for Money {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Money {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// `$12.34`; below one dollar with four decimals, because single requests cost less than a cent.
impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dollars = self.as_dollars();
        let text = match dollars {
            0.0 => "$0".to_owned(),
            small if small < 0.0001 => "<$0.0001".to_owned(),
            small if small < 0.9999 => format!("${small:.4}"),
            large => format!("${large:.2}"),
        };
        f.pad(&text)
    }
}

impl Serialize for Money {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.as_dollars())
    }
}

impl<'de> Deserialize<'de> for Money {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let amount = f64::deserialize(deserializer)?;
        Self::dollars(amount)
            .ok_or_else(|| serde::de::Error::custom("not an amount of dollars from 0"))
    }
}

/// Prices of a model in dollars per million tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Input tokens neither read from nor written to the prompt cache.
    pub input: f64,
    /// Output tokens.
    pub output: f64,
    /// Input tokens read from the prompt cache; without a price of their own, as `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    /// Input tokens written to the prompt cache for five minutes; as `input` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
    /// Input tokens written to the prompt cache for an hour; as `cache_write` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_1h: Option<f64>,
    /// Date on which the price was looked up, such as `2026-03`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_of: Option<String>,
}

impl Price {
    /// Returns whether all prices are numbers from 0.
    pub fn is_valid(&self) -> bool {
        let optional = [self.cache_read, self.cache_write, self.cache_write_1h];
        let all = [self.input, self.output]
            .into_iter()
            .chain(optional.into_iter().flatten());
        all.into_iter().all(|price| Money::dollars(price).is_some())
    }

    /// Returns the cost of tokens whose cache writes have this lifetime.
    pub fn cost(&self, usage: Usage, cache: CacheLifetime) -> Money {
        let write = self.cache_write.unwrap_or(self.input);
        let write = match cache {
            CacheLifetime::FiveMinutes => write,
            CacheLifetime::OneHour => self.cache_write_1h.unwrap_or(write),
        };
        let parts = [
            (usage.input_tokens, self.input),
            (usage.output_tokens, self.output),
            (
                usage.cache_read_input_tokens,
                self.cache_read.unwrap_or(self.input),
            ),
            (usage.cache_creation_input_tokens, write),
        ];
        #[expect(
            clippy::cast_precision_loss,
            reason = "token counts are far below the limit of exact numbers"
        )]
        let costs = parts.map(|(tokens, price)| tokens as f64 * price / MILLION);
        // Not representable only beyond nine million dollars.
        Money::dollars(costs.into_iter().sum()).unwrap_or(Money(u64::MAX))
    }
}

/// The usage and the cost of one model request, with the failed attempts before it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CostRecord {
    /// Time at which the request ended.
    pub at: UnixMs,
    /// The member whose process sent the request.
    pub member: MemberName,
    /// Type of the sub-agent that sent it, or `hook`; absent for the member itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The member's task in progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// Model as `provider/model`.
    pub model: String,
    /// Tokens.
    pub usage: Usage,
    /// The cost; absent if the model had no price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usd: Option<Money>,
    /// Date of the price that was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<String>,
    /// Set if the record is not a request that ended; strict budgets only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation: Option<ReservationMark>,
}

/// What happens to the budget that is set aside for a request in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReservationMark {
    /// Set aside: usage and cost of the record are the most that the request can use.
    Reserved(ReservationId),
    /// No longer set aside; the record has no usage.
    Released(ReservationId),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price() -> Price {
        Price {
            input: 3.0,
            output: 15.0,
            cache_read: Some(0.3),
            cache_write: Some(3.75),
            cache_write_1h: Some(6.0),
            as_of: None,
        }
    }

    #[test]
    fn each_kind_of_token_has_its_own_price() {
        let usage = Usage {
            input_tokens: 1_000_000,
            output_tokens: 1_000_000,
            cache_read_input_tokens: 1_000_000,
            cache_creation_input_tokens: 1_000_000,
        };
        let five = price().cost(usage, CacheLifetime::FiveMinutes);
        assert_eq!(five, Money::dollars(3.0 + 15.0 + 0.3 + 3.75).unwrap());
        let hour = price().cost(usage, CacheLifetime::OneHour);
        assert_eq!(hour, Money::dollars(3.0 + 15.0 + 0.3 + 6.0).unwrap());
    }

    #[test]
    fn cached_tokens_without_a_price_cost_as_much_as_input() {
        let bare = Price {
            cache_read: None,
            cache_write: None,
            cache_write_1h: None,
            ..price()
        };
        let usage = Usage {
            cache_read_input_tokens: 500_000,
            cache_creation_input_tokens: 500_000,
            ..Usage::default()
        };
        let cost = bare.cost(usage, CacheLifetime::OneHour);
        assert_eq!(cost, Money::dollars(3.0).unwrap());
    }

    #[test]
    fn amounts_are_written_as_people_read_them() {
        for (amount, text) in [
            (0.0, "$0"),
            (0.000_001, "<$0.0001"),
            (0.0123, "$0.0123"),
            (0.99999, "$1.00"),
            (12.345_678, "$12.35"),
        ] {
            assert_eq!(Money::dollars(amount).unwrap().to_string(), text);
        }
    }

    #[test]
    fn sums_of_small_amounts_are_exact() {
        let cent = Money::dollars(0.1).unwrap();
        let sum = cent + cent + cent;
        assert_eq!(serde_json::to_string(&sum).unwrap(), "0.3");
        assert_eq!(serde_json::from_str::<Money>("0.3").unwrap(), sum);
        assert!(serde_json::from_str::<Money>("-1").is_err());
    }
}
