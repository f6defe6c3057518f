//! Reads weights from a file in the form `safetensors`: a header in JSON, then the numbers.

use std::path::{Path, PathBuf};

use ndarray::{Array1, Array2};
use serde_json::Value;

use crate::error::Error;

/// The arrays of a file by name.
pub(super) struct Tensors {
    path: PathBuf,
    header: Value,
    numbers: Vec<u8>,
}

impl Tensors {
    pub(super) fn load(path: &Path) -> Result<Self, Error> {
        let mut bytes = std::fs::read(path).map_err(Error::io(path))?;
        let fault = |why: &str| Error::Model { path: path.to_owned(), why: why.to_owned() };
        let length = bytes.first_chunk::<8>().map(|length| u64::from_le_bytes(*length) as usize);
        let end = length.and_then(|length| length.checked_add(8)).filter(|end| *end <= bytes.len());
        let end = end.ok_or_else(|| fault("it is not in the form safetensors"))?;
        let header = serde_json::from_slice(&bytes[8..end]).map_err(|_| fault("its header is not JSON"))?;
        let numbers = bytes.split_off(end);
        Ok(Self { path: path.to_owned(), header, numbers })
    }

    /// A matrix whose rows are inputs: `linear` layers are stored the other way round.
    pub(super) fn transposed(&self, name: &str, rows: usize, columns: usize) -> Result<Array2<f32>, Error> {
        let stored = self.matrix(name, columns, rows)?;
        Ok(stored.t().as_standard_layout().into_owned())
    }

    pub(super) fn matrix(&self, name: &str, rows: usize, columns: usize) -> Result<Array2<f32>, Error> {
        let numbers = self.numbers(name, rows * columns)?;
        Array2::from_shape_vec((rows, columns), numbers).map_err(|error| self.fault(name, &error.to_string()))
    }

    pub(super) fn vector(&self, name: &str, length: usize) -> Result<Array1<f32>, Error> {
        Ok(Array1::from_vec(self.numbers(name, length)?))
    }

    fn numbers(&self, name: &str, count: usize) -> Result<Vec<f32>, Error> {
        let about = &self.header[name];
        if about["dtype"].as_str() != Some("F32") {
            return Err(self.fault(name, "it is missing, or its numbers are not F32"));
        }
        let offset = |at: usize| about["data_offsets"][at].as_u64().map(|offset| offset as usize);
        let range = offset(0).zip(offset(1)).filter(|(start, end)| end.checked_sub(*start) == Some(count * 4));
        let bytes = range.and_then(|(start, end)| self.numbers.get(start..end));
        let bytes = bytes.ok_or_else(|| self.fault(name, &format!("expected {count} numbers")))?;
        let (numbers, _) = bytes.as_chunks::<4>();
        Ok(numbers.iter().map(|number| f32::from_le_bytes(*number)).collect())
    }

    fn fault(&self, name: &str, why: &str) -> Error {
        Error::Model { path: self.path.clone(), why: format!("`{name}`: {why}") }
    }
}
