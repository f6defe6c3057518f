//! The place of `--blobs`: a folder, or a bucket whose address and credentials are in the environment.

use std::path::Path;

use tokio_util::sync::CancellationToken;
use updraft_restate::{BlobBucket, BlobFolder, BlobStore, BucketFault, BucketSettings, is_bucket};

use super::random;
use crate::fault::CliError;
use crate::{folders, time_format};

/// Opens it for a worker.
pub(super) async fn open(place: &Path, stop: &CancellationToken) -> Result<BlobStore, CliError> {
    let fresh = random(16)?;
    let Some(settings) = bucket(place) else {
        let opened = BlobFolder::open(place, &fresh).map_err(|error| CliError::file("write to", place, &error))?;
        return Ok(BlobStore::Folder(opened));
    };
    let opened = BlobBucket::open(&settings, &fresh, time_format::now, stop.clone()).await;
    let refused = |fault: BucketFault| match &fault {
        BucketFault::Unreachable { .. } => CliError::failed(fault.to_string()).hint(fault.hint()),
        _ => CliError::usage(fault.to_string()).hint(fault.hint()),
    };
    opened.map(BlobStore::Bucket).map_err(refused)
}

/// Sees whether it can be used, for `doctor`. Otherwise says why not, and what to do.
pub(in crate::commands) async fn check(place: &Path) -> Result<(), (String, String)> {
    let fresh = random(16).map_err(|error| (error.message, String::new()))?;
    let Some(settings) = bucket(place) else {
        return BlobFolder::check(place, &fresh).map_err(|error| {
            let advice = "make the folder, mount it on every machine, and let the worker's user write to it";
            (format!("{}: {error}", place.display()), advice.to_owned())
        });
    };
    let checked = BlobBucket::check(&settings, &fresh, time_format::now, CancellationToken::new()).await;
    checked.map_err(|fault| (fault.to_string(), fault.hint()))
}

/// What the environment says about a bucket; none if the place is a folder.
fn bucket(place: &Path) -> Option<BucketSettings> {
    let place = place.to_str().filter(|place| is_bucket(place))?;
    let first = |names: &[&str]| names.iter().find_map(|name| folders::set(name));
    let except = first(&["NO_PROXY", "no_proxy"]);
    Some(BucketSettings {
        place: place.to_owned(),
        endpoint: first(&["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]),
        region: first(&["AWS_REGION", "AWS_DEFAULT_REGION"]),
        access_key: folders::set("AWS_ACCESS_KEY_ID"),
        secret_key: folders::set("AWS_SECRET_ACCESS_KEY"),
        session_token: folders::set("AWS_SESSION_TOKEN"),
        allows_plain: folders::set("AWS_ALLOW_HTTP").is_some_and(|value| ["1", "true", "yes"].contains(&value.trim())),
        proxy: first(&["HTTPS_PROXY", "https_proxy"]).map(|proxy| (proxy, except)),
    })
}
