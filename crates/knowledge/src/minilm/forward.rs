//! The network: six layers of attention over the tokens of a text, and their mean as its vector.

use ndarray::{Array1, Array2, ArrayView2, Axis, s};

use super::weights::Tensors;
use crate::error::Error;

/// The length of a vector.
pub(super) const WIDTH: usize = 384;
const HEADS: usize = 12;
const HEAD: usize = WIDTH / HEADS;
const INNER: usize = 1536;
const LAYERS: usize = 6;
const TOKENS: usize = 30522;
const POSITIONS: usize = 512;

/// Input times weights plus bias.
struct Linear {
    weights: Array2<f32>,
    bias: Array1<f32>,
}

/// Brings every row to mean 0 and variance 1, then scales it.
struct Norm {
    scale: Array1<f32>,
    shift: Array1<f32>,
}

struct AttentionLayer {
    /// Query, key and value beside each other: one product instead of three.
    projection: Linear,
    output: Linear,
    after_attention: Norm,
    widen: Linear,
    narrow: Linear,
    after_all: Norm,
}

/// The weights in the form in which they are used.
pub(super) struct Network {
    words: Array2<f32>,
    positions: Array2<f32>,
    norm: Norm,
    layers: Vec<AttentionLayer>,
}

impl Network {
    pub(super) fn new(tensors: &Tensors) -> Result<Self, Error> {
        let mut positions = tensors.matrix("embeddings.position_embeddings.weight", POSITIONS, WIDTH)?;
        // All texts are of the first kind, so its vector is added once.
        positions += &tensors.matrix("embeddings.token_type_embeddings.weight", 2, WIDTH)?.row(0);
        Ok(Self {
            words: tensors.matrix("embeddings.word_embeddings.weight", TOKENS, WIDTH)?,
            positions,
            norm: Norm::new(tensors, "embeddings.LayerNorm")?,
            layers: (0..LAYERS).map(|at| AttentionLayer::new(tensors, at)).collect::<Result<_, _>>()?,
        })
    }

    /// The vector of a text, of length 1.
    pub(super) fn embed(&self, tokens: &[u32]) -> Vec<f32> {
        let mut state = self.positions.slice(s![..tokens.len(), ..]).to_owned();
        for (mut row, token) in state.rows_mut().into_iter().zip(tokens) {
            row += &self.words.row(*token as usize % TOKENS);
        }
        self.norm.apply(&mut state);
        for layer in &self.layers {
            state = layer.apply(&state);
        }
        let mean = state.sum_axis(Axis(0));
        let length = mean.dot(&mean).sqrt().max(f32::MIN_POSITIVE);
        (mean / length).to_vec()
    }
}

impl AttentionLayer {
    fn new(tensors: &Tensors, at: usize) -> Result<Self, Error> {
        let name = |part: &str| format!("encoder.layer.{at}.{part}");
        let mut weights = Array2::zeros((WIDTH, 3 * WIDTH));
        let mut bias = Array1::zeros(3 * WIDTH);
        for (at, part) in ["query", "key", "value"].into_iter().enumerate() {
            let one = Linear::new(tensors, &name(&format!("attention.self.{part}")), WIDTH, WIDTH)?;
            let columns = at * WIDTH..(at + 1) * WIDTH;
            weights.slice_mut(s![.., columns.clone()]).assign(&one.weights);
            bias.slice_mut(s![columns]).assign(&one.bias);
        }
        Ok(Self {
            projection: Linear { weights, bias },
            output: Linear::new(tensors, &name("attention.output.dense"), WIDTH, WIDTH)?,
            after_attention: Norm::new(tensors, &name("attention.output.LayerNorm"))?,
            widen: Linear::new(tensors, &name("intermediate.dense"), WIDTH, INNER)?,
            narrow: Linear::new(tensors, &name("output.dense"), INNER, WIDTH)?,
            after_all: Norm::new(tensors, &name("output.LayerNorm"))?,
        })
    }

    fn apply(&self, state: &Array2<f32>) -> Array2<f32> {
        let mut attended = self.output.apply(&self.attend(state));
        attended += state;
        self.after_attention.apply(&mut attended);
        let mut wide = self.widen.apply(&attended);
        wide.mapv_inplace(gelu);
        let mut result = self.narrow.apply(&wide);
        result += &attended;
        self.after_all.apply(&mut result);
        result
    }

    fn attend(&self, state: &Array2<f32>) -> Array2<f32> {
        let all = self.projection.apply(state);
        let mut joined = Array2::zeros((state.nrows(), WIDTH));
        for head in 0..HEADS {
            let part = |kind: usize| -> ArrayView2<'_, f32> {
                let start = kind * WIDTH + head * HEAD;
                all.slice(s![.., start..start + HEAD])
            };
            let mut weights = part(0).dot(&part(1).t());
            weights /= (HEAD as f32).sqrt();
            softmax(&mut weights);
            joined.slice_mut(s![.., head * HEAD..(head + 1) * HEAD]).assign(&weights.dot(&part(2)));
        }
        joined
    }
}

impl Linear {
    fn new(tensors: &Tensors, name: &str, inputs: usize, outputs: usize) -> Result<Self, Error> {
        let weights = tensors.transposed(&format!("{name}.weight"), inputs, outputs)?;
        Ok(Self { weights, bias: tensors.vector(&format!("{name}.bias"), outputs)? })
    }

    fn apply(&self, input: &Array2<f32>) -> Array2<f32> {
        let mut output = input.dot(&self.weights);
        output += &self.bias;
        output
    }
}

impl Norm {
    fn new(tensors: &Tensors, name: &str) -> Result<Self, Error> {
        let scale = tensors.vector(&format!("{name}.weight"), WIDTH)?;
        Ok(Self { scale, shift: tensors.vector(&format!("{name}.bias"), WIDTH)? })
    }

    fn apply(&self, state: &mut Array2<f32>) {
        for mut row in state.rows_mut() {
            let mean = row.sum() / WIDTH as f32;
            row -= mean;
            let deviation = (row.dot(&row) / WIDTH as f32 + 1e-12).sqrt();
            row /= deviation;
            row *= &self.scale;
            row += &self.shift;
        }
    }
}

fn softmax(weights: &mut Array2<f32>) {
    for mut row in weights.rows_mut() {
        let most = row.fold(f32::MIN, |most, value| most.max(*value));
        row.mapv_inplace(|value| (value - most).exp());
        let sum = row.sum();
        row /= sum;
    }
}

/// The Gaussian error linear unit; its error function by Abramowitz and Stegun 7.1.26, exact to 1.5e-7.
fn gelu(value: f32) -> f32 {
    let x = value.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let series = ((((1.061_405_4 * t - 1.453_152_1) * t + 1.421_413_8) * t - 0.284_496_72) * t + 0.254_829_6) * t;
    let error = 1.0 - series * (-x * x).exp();
    0.5 * value * (1.0 + error.copysign(value))
}
