//! Where the bytes of a data file come from: a local file, or an object of a store.

use std::collections::VecDeque;
use std::fmt::Display;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use datafusion::error::{DataFusionError, Result};
use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::{self, StreamExt, TryStreamExt};
use parquet::arrow::arrow_reader::ArrowReaderOptions;
use parquet::arrow::async_reader::AsyncFileReader;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use tokio::task::JoinSet;

use crate::failure::failure;
use crate::stores::{Stores, Trouble, Url};
use crate::wire::{Class, File};

/// How much of an object's end is read first, with the footer in it. Whole objects are read at once up to this size.
const TAIL: u64 = 512 << 10;

/// How much of a file's end is read first for its footer.
const FOOTER: usize = 16 << 10;

/// Ranges that lie closer together are read as one.
const GAP: u64 = 256 << 10;

/// The largest range of one request, and how many of an object are open at once.
const PIECE: u64 = 8 << 20;
const PARALLEL: usize = 8;

/// The bytes of a file.
pub enum Input {
    /// A file of this machine, or of one that is mounted.
    Local(Local),
    /// An object of a store.
    Remote(Remote),
}

impl Input {
    /// Opens a file. It has the size that its manifest says, or it is another one.
    pub async fn open(file: &File, url: Option<&Url>, stores: &Arc<Stores>) -> Result<Self> {
        if let Some(url) = url {
            let object = Object::open(file, url.clone(), Arc::clone(stores)).await?;
            return Ok(Self::Remote(Remote { object: Arc::new(object), next: VecDeque::new(), coming: None }));
        }
        let input = tokio::fs::File::open(&file.path).await.map_err(|e| unreadable(file, &e))?;
        let meta = input.metadata().await.map_err(|e| unreadable(file, &e))?;
        if !meta.is_file() || meta.len() != file.size as u64 {
            return Err(unreadable(file, &"it is not the file that the manifest names"));
        }
        Ok(Self::Local(Local { file: Arc::new(input.into_std().await), size: meta.len() }))
    }

    /// Says what will be asked for, in this order, so that it comes before.
    pub fn expect(&mut self, ranges: impl Iterator<Item = Vec<Range<u64>>>) {
        if let Self::Remote(r) = self {
            r.next = ranges.collect();
            r.hasten();
        }
    }
}

impl AsyncFileReader for Input {
    fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, parquet::errors::Result<Bytes>> {
        match self {
            Self::Local(f) => f.get_bytes(range),
            Self::Remote(r) => r.get_bytes(range),
        }
    }

    fn get_byte_ranges(&mut self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, parquet::errors::Result<Vec<Bytes>>> {
        match self {
            Self::Local(f) => f.get_byte_ranges(ranges),
            Self::Remote(r) => r.get_byte_ranges(ranges),
        }
    }

    fn get_metadata<'a>(&'a mut self, options: Option<&'a ArrowReaderOptions>) -> BoxFuture<'a, parquet::errors::Result<Arc<ParquetMetaData>>> {
        match self {
            Self::Local(f) => f.get_metadata(options),
            Self::Remote(r) => r.get_metadata(options),
        }
    }
}

/// A file. What is asked for at once is read in one go, each range into memory of its own.
pub struct Local {
    file: Arc<std::fs::File>,
    size: u64,
}

impl Local {
    fn ranges(&self, ranges: Ranges) -> BoxFuture<'static, parquet::errors::Result<Vec<Bytes>>> {
        let (file, size) = (Arc::clone(&self.file), self.size);
        let read = move |r: &Range<u64>| {
            if r.start > r.end || r.end > size {
                return Err(ParquetError::General("its footer names bytes that it does not have".to_owned()));
            }
            let mut bytes = vec![0; (r.end - r.start) as usize];
            file.read_exact_at(&mut bytes, r.start)?;
            Ok(Bytes::from(bytes))
        };
        async move {
            let got = tokio::task::spawn_blocking(move || ranges.iter().map(read).collect());
            got.await.map_err(|e| ParquetError::External(Box::new(e)))?
        }
        .boxed()
    }
}

impl AsyncFileReader for Local {
    fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, parquet::errors::Result<Bytes>> {
        let got = self.ranges(vec![range]);
        async move { Ok(got.await?.swap_remove(0)) }.boxed()
    }

    fn get_byte_ranges(&mut self, ranges: Ranges) -> BoxFuture<'_, parquet::errors::Result<Vec<Bytes>>> {
        self.ranges(ranges)
    }

    fn get_metadata<'a>(&'a mut self, options: Option<&'a ArrowReaderOptions>) -> BoxFuture<'a, parquet::errors::Result<Arc<ParquetMetaData>>> {
        let size = self.size;
        footer(self, size, options)
    }
}

/// The metadata at the end of a file of so many bytes.
fn footer<'a, R: AsyncFileReader>(
    input: &'a mut R,
    size: u64,
    options: Option<&'a ArrowReaderOptions>,
) -> BoxFuture<'a, parquet::errors::Result<Arc<ParquetMetaData>>> {
    async move {
        let reader = ParquetMetaDataReader::new().with_arrow_reader_options(options).with_prefetch_hint(Some(FOOTER));
        Ok(Arc::new(reader.load_and_finish(input, size).await?))
    }
    .boxed()
}

/// An object, held by the tag that it had when it was opened.
struct Object {
    stores: Arc<Stores>,
    url: Url,
    path: String,
    size: u64,
    tag: String,
    /// Where the bytes begin that are there already, and they.
    tail: (u64, Bytes),
}

impl Object {
    async fn open(file: &File, url: Url, stores: Arc<Stores>) -> Result<Self> {
        let size = u64::try_from(file.size).ok().filter(|s| *s > 0).ok_or_else(|| unreadable(file, &"it has no size"))?;
        let start = size.saturating_sub(TAIL);
        let (tail, tag) = fetched(&stores, &url, start..size, size, None).await.map_err(|t| trouble(&file.path, t))?;
        Ok(Self { stores, url, path: file.path.clone(), size, tag, tail: (start, tail) })
    }

    /// The bytes of a range, if they are there already.
    fn there(&self, range: &Range<u64>) -> Option<Bytes> {
        let (start, tail) = &self.tail;
        let within = range.start >= *start && range.end <= self.size;
        within.then(|| tail.slice((range.start - start) as usize..(range.end - start) as usize))
    }

    async fn ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        if ranges.iter().any(|r| r.start > r.end || r.end > self.size) {
            return Err(failure(Class::Data, format!("data file {}: its footer names bytes that it does not have", self.path)));
        }
        let joined = joined(ranges.iter().filter(|r| self.there(r).is_none()).cloned().collect());
        let (start, tail) = &self.tail;
        let pieces: Vec<Range<u64>> = joined.iter().flat_map(|r| pieces(r.start..r.end.min(*start))).collect();
        let got: Vec<Bytes> = stream::iter(pieces.clone())
            .map(|p| async {
                let got = fetched(&self.stores, &self.url, p, self.size, Some(self.tag.clone())).await;
                got.map(|(bytes, _)| bytes).map_err(|t| trouble(&self.path, t))
            })
            .buffered(PARALLEL)
            .try_collect()
            .await?;
        let end = |r: &Range<u64>| tail.slice(..r.end.saturating_sub(*start) as usize);
        let whole: Vec<Bytes> = joined.iter().map(|r| whole(r, &pieces, &got, end(r))).collect();
        Ok(ranges
            .iter()
            .map(|r| match (self.there(r), joined.iter().position(|j| j.start <= r.start && r.end <= j.end)) {
                (Some(bytes), _) => bytes,
                (None, Some(at)) => whole[at].slice((r.start - joined[at].start) as usize..(r.end - joined[at].start) as usize),
                (None, None) => Bytes::new(), // an empty range
            })
            .collect())
    }
}

type Ranges = Vec<Range<u64>>;

/// An object that is read: what will be asked for next is on its way.
pub struct Remote {
    object: Arc<Object>,
    /// What will be asked for, in this order.
    next: VecDeque<Ranges>,
    coming: Option<(Ranges, JoinSet<Result<Vec<Bytes>>>)>,
}

impl Remote {
    /// Has the first of what is expected come.
    fn hasten(&mut self) {
        self.coming = self.next.pop_front().map(|ranges| {
            let (object, wanted) = (Arc::clone(&self.object), ranges.clone());
            let mut task = JoinSet::new();
            task.spawn(async move { object.ranges(&wanted).await });
            (ranges, task)
        });
    }

    async fn ranges(&mut self, ranges: Ranges) -> Result<Vec<Bytes>> {
        // A row group of which no row is left may be left out.
        if let Some(at) = self.next.iter().position(|n| *n == ranges) {
            self.next.drain(..at);
            self.hasten();
        }
        let Some((_, mut task)) = self.coming.take_if(|(r, _)| *r == ranges) else {
            return self.object.ranges(&ranges).await;
        };
        let got = task.join_next().await.and_then(std::result::Result::ok);
        self.hasten();
        got.unwrap_or_else(|| Err(trouble(&self.object.path, GIVEN_UP)))
    }
}

impl AsyncFileReader for Remote {
    fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, parquet::errors::Result<Bytes>> {
        async move { Ok(self.object.ranges(&[range]).await.map_err(external)?.swap_remove(0)) }.boxed()
    }

    fn get_byte_ranges(&mut self, ranges: Ranges) -> BoxFuture<'_, parquet::errors::Result<Vec<Bytes>>> {
        async move { self.ranges(ranges).await.map_err(external) }.boxed()
    }

    fn get_metadata<'a>(&'a mut self, options: Option<&'a ArrowReaderOptions>) -> BoxFuture<'a, parquet::errors::Result<Arc<ParquetMetaData>>> {
        let size = self.object.size;
        footer(self, size, options)
    }
}

/// What is said of a read whose task ended without it.
const GIVEN_UP: Trouble = Trouble::Unavailable("it was given up");

/// Reads a range, also while nobody looks, and no longer than somebody wants it.
async fn fetched(stores: &Arc<Stores>, url: &Url, range: Range<u64>, size: u64, tag: Option<String>) -> Result<(Bytes, String), Trouble> {
    let (stores, url) = (Arc::clone(stores), url.clone());
    let mut task = JoinSet::new();
    task.spawn(async move { stores.get(&url, range, size, tag.as_deref()).await });
    task.join_next().await.and_then(std::result::Result::ok).unwrap_or(Err(GIVEN_UP))
}

/// The ranges, ascending, with those joined that are close together. Empty ones are left out.
fn joined(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.retain(|r| !r.is_empty());
    ranges.sort_by_key(|r| (r.start, r.end));
    let mut out: Vec<Range<u64>> = Vec::new();
    for r in ranges {
        match out.last_mut() {
            Some(last) if r.start <= last.end.saturating_add(GAP) => last.end = last.end.max(r.end),
            _ => out.push(r),
        }
    }
    out
}

/// The requests for a range.
fn pieces(range: Range<u64>) -> Vec<Range<u64>> {
    let end = range.end;
    range.step_by(PIECE as usize).map(|s| s..end.min(s + PIECE)).collect()
}

/// A range, put together of the pieces in it and of what is there of its end.
fn whole(range: &Range<u64>, pieces: &[Range<u64>], got: &[Bytes], end: Bytes) -> Bytes {
    let mut of = pieces.iter().zip(got).filter(|(p, _)| p.start >= range.start && p.end <= range.end).map(|(_, b)| b);
    let first = of.next().cloned().unwrap_or_default();
    if first.len() as u64 == range.end - range.start {
        return first;
    }
    let mut all = BytesMut::with_capacity((range.end - range.start) as usize);
    std::iter::once(&first).chain(of).chain([&end]).for_each(|b| all.extend_from_slice(b));
    all.freeze()
}

fn trouble(path: &str, t: Trouble) -> DataFusionError {
    let (class, why) = match t {
        Trouble::Refused => (Class::Refused, "the object store refuses it"),
        Trouble::Missing => (Class::Data, "the object store has no such object"),
        Trouble::Changed => (Class::Data, "it is not the object that the manifest names, or that it was a moment ago"),
        Trouble::Unavailable(why) | Trouble::Unfit(why) => (Class::Unavailable, why),
    };
    failure(class, format!("data file {path}: {why}"))
}

fn external(e: DataFusionError) -> ParquetError {
    ParquetError::External(Box::new(e))
}

/// An error of the reader of Parquet: what happened beneath it, if that is known, or else that the file is damaged.
pub fn damaged(path: &str, e: ParquetError) -> DataFusionError {
    match e {
        ParquetError::External(e) => match e.downcast::<DataFusionError>() {
            Ok(e) => *e,
            Err(e) => failure(Class::Data, format!("data file {path}: {e}")),
        },
        e => failure(Class::Data, format!("data file {path}: {e}")),
    }
}

/// An error about a data file.
pub fn unreadable(file: &File, why: &dyn Display) -> DataFusionError {
    failure(Class::Data, format!("data file {}: {why}", file.path))
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "lists of ranges are meant")]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_joined_and_cut() {
        for (ranges, want) in [
            (vec![], vec![]),
            (vec![5..5], vec![]),
            (vec![10..20, 0..5], vec![0..20]),
            (vec![0..10, GAP + 10..GAP + 20], vec![0..GAP + 20]),
            (vec![0..10, GAP + 11..GAP + 20], vec![0..10, GAP + 11..GAP + 20]),
            (vec![0..100, 10..20], vec![0..100]),
        ] {
            assert_eq!(joined(ranges.clone()), want, "{ranges:?}");
        }
        assert_eq!(pieces(3..PIECE), [3..PIECE]);
        assert_eq!(pieces(3..PIECE + 3), [3..PIECE + 3]);
        assert_eq!(pieces(3..PIECE + 4), [3..PIECE + 3, PIECE + 3..PIECE + 4]);
    }

    #[test]
    fn pieces_make_their_range() {
        let r = 1..PIECE + 4;
        let cut = pieces(r.clone());
        let got = [Bytes::from(vec![1; PIECE as usize]), Bytes::from_static(&[2, 2, 2])];
        let all = whole(&r, &cut, &got, Bytes::new());
        assert_eq!((all.len() as u64, all[0], all[PIECE as usize]), (r.end - r.start, 1, 2));
        let got = [Bytes::from_static(&[9]), Bytes::from_static(&[1, 2])];
        assert_eq!(&whole(&(3..9), &[0..1, 3..5], &got, Bytes::from_static(&[3, 4, 5, 6]))[..], [1, 2, 3, 4, 5, 6]);
    }
}
