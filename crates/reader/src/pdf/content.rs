//! The glyphs of a page: what its content shows, where, and how large.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use encoding_rs::WINDOWS_1252;
use hayro_font::hayro_cmap::{BfString, load_embedded};
use hayro_font::hayro_syntax::content::{Instruction, UntypedIter};
use hayro_font::hayro_syntax::object::dict::keys;
use hayro_font::hayro_syntax::object::{Array, Dict, Name, Object, Rect, Stream};
use hayro_font::hayro_syntax::page::{Page, Resources};
use hayro_font::kurbo::{Affine, Point};
use hayro_font::{CMapResolverFn, Font, FontCache, FontGlyph, FontQuery, FontResolverFn};

use super::unpack_budget::UnpackBudget;
use crate::error::ReadError;

/// Forms within forms go no deeper; a form that shows itself ends here too.
const DEEPEST: usize = 12;
/// No page that people read has more.
const MOST_GLYPHS: usize = 200_000;
const MOST_OPERATIONS: usize = 5_000_000;
const DEEPEST_STATE: usize = 512;

/// A character on a page. Positions are in points, from the lower left corner of the page as it is shown.
#[derive(Clone, Debug)]
pub(super) struct PdfGlyph {
    pub(super) text: String,
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) base: f64,
    pub(super) size: f64,
    pub(super) is_bold: bool,
    /// Stands for the font.
    pub(super) face: usize,
    /// Quarter turns of the text against the page.
    pub(super) turn: u8,
}

/// What a page shows.
#[derive(Debug, Default)]
pub(super) struct PageContent {
    pub(super) glyphs: Vec<PdfGlyph>,
    /// Glyphs of which the font does not say what they are.
    pub(super) unknown: usize,
    /// How much of the page pictures cover, at most 1 each.
    pictures: f64,
}

impl PageContent {
    /// Reads the content of a page and of the form fields on it.
    pub(super) fn read<'a>(
        page: &'a Page<'a>,
        fonts: &FontShelf<'a>,
        budget: &mut UnpackBudget,
    ) -> Result<Self, ReadError> {
        for stream in streams(page.raw()) {
            budget.take(&stream)?;
        }
        let (width, height) = page.render_dimensions();
        let transform = Affine::new(page.initial_transform(false).as_coeffs());
        let mut painter = Painter {
            content: Self::default(),
            fonts,
            budget,
            width: f64::from(width),
            height: f64::from(height),
            operations: 0,
            open: BTreeSet::new(),
        };
        let data = page.page_stream().unwrap_or_default();
        painter.run(data, page.resources(), State::new(transform), 0)?;
        painter.fields(page.raw(), transform)?;
        Ok(painter.content)
    }

    /// Whether the page is a picture with next to no text.
    pub(super) fn is_scan(&self, few: usize) -> bool {
        self.glyphs.len() < few && self.pictures > 0.5
    }
}

fn streams<'a>(page: &Dict<'a>) -> Vec<Stream<'a>> {
    if let Some(stream) = page.get::<Stream<'a>>(keys::CONTENTS) {
        return vec![stream];
    }
    page.get::<Array<'a>>(keys::CONTENTS).map(|array| array.iter::<Stream<'a>>().collect()).unwrap_or_default()
}

/// The fonts of a document, each loaded once.
pub(super) struct FontShelf<'a> {
    cache: FontCache<'a>,
    fonts: FontResolverFn,
    maps: CMapResolverFn,
    measured: RefCell<BTreeSet<usize>>,
}

impl<'a> FontShelf<'a> {
    pub(super) fn new() -> Self {
        let fonts: FontResolverFn = Arc::new(|query: &FontQuery| {
            let standard = match query {
                FontQuery::Standard(standard) => *standard,
                FontQuery::Fallback(query) => query.pick_standard_font(),
            };
            Some(standard.get_font_data())
        });
        let maps: CMapResolverFn = Arc::new(load_embedded);
        Self { cache: FontCache::new(), fonts, maps, measured: RefCell::new(BTreeSet::new()) }
    }

    /// Loads a font, after its streams have been measured.
    fn get(&self, dict: &Dict<'a>, budget: &mut UnpackBudget) -> Result<Option<ShownFont<'a>>, ReadError> {
        // A dictionary is known by where it stands in the file.
        let face = dict.data().as_ptr() as usize;
        if self.measured.borrow_mut().insert(face) {
            let descendant =
                dict.get::<Array<'a>>(keys::DESCENDANT_FONTS).and_then(|fonts| fonts.iter::<Dict<'a>>().next());
            let descriptor = descendant.as_ref().unwrap_or(dict).get::<Dict<'a>>(keys::FONT_DESC).unwrap_or_default();
            let programs =
                [keys::FONT_FILE, keys::FONT_FILE2, keys::FONT_FILE3].map(|key| descriptor.get::<Stream<'a>>(key));
            let others = [keys::TO_UNICODE, keys::ENCODING].map(|key| dict.get::<Stream<'a>>(key));
            for stream in programs.iter().chain(&others).flatten() {
                budget.take(stream)?;
            }
        }
        let name = dict.get::<Name<'a>>(keys::BASE_FONT).map(|name| name.as_str().to_lowercase()).unwrap_or_default();
        let is_bold = ["bold", "black", "heavy", "demi"].iter().any(|word| name.contains(word));
        let font = self.cache.font(dict, &self.fonts, &self.maps);
        Ok(font.map(|font| ShownFont { font, is_bold, face }))
    }
}

#[derive(Clone)]
struct ShownFont<'a> {
    font: Font<'a>,
    is_bold: bool,
    face: usize,
}

/// The graphics state, as far as text needs it.
#[derive(Clone)]
struct State<'a> {
    page: Affine,
    text: Affine,
    line: Affine,
    font: Option<ShownFont<'a>>,
    size: f64,
    character_space: f64,
    word_space: f64,
    scale: f64,
    leading: f64,
    rise: f64,
}

impl State<'_> {
    fn new(page: Affine) -> Self {
        Self {
            page,
            text: Affine::IDENTITY,
            line: Affine::IDENTITY,
            font: None,
            size: 1.0,
            character_space: 0.0,
            word_space: 0.0,
            scale: 1.0,
            leading: 0.0,
            rise: 0.0,
        }
    }

    fn next_line(&mut self, x: f64, y: f64) {
        self.line *= Affine::translate((x, y));
        self.text = self.line;
    }
}

struct Painter<'p, 'a> {
    content: PageContent,
    fonts: &'p FontShelf<'a>,
    budget: &'p mut UnpackBudget,
    width: f64,
    height: f64,
    operations: usize,
    /// Forms that are being shown, so that none shows itself.
    open: BTreeSet<usize>,
}

impl<'a> Painter<'_, 'a> {
    fn is_done(&self) -> bool {
        self.content.glyphs.len() >= MOST_GLYPHS || self.operations >= MOST_OPERATIONS
    }

    fn run(&mut self, data: &[u8], resources: &Resources<'a>, state: State<'a>, depth: usize) -> Result<(), ReadError> {
        let mut state = state;
        let mut saved: Vec<State<'a>> = Vec::new();
        let mut operations = UntypedIter::new(data);
        while let Some(operation) = operations.next() {
            self.operations += 1;
            if self.is_done() {
                break;
            }
            match &**operation.operator {
                b"q" if saved.len() < DEEPEST_STATE => saved.push(state.clone()),
                b"Q" => state = saved.pop().unwrap_or(state),
                b"cm" => state.page *= matrix(&operation),
                b"Do" => {
                    let form = name(&operation, 0).and_then(|name| resources.get_x_object(&name));
                    if let Some(form) = form {
                        self.object(&form, resources, &state, depth)?;
                    }
                }
                b"Tf" => {
                    let font = name(&operation, 0).and_then(|name| resources.get_font(&name));
                    state.font = match font {
                        Some(font) => self.fonts.get(&font, self.budget)?,
                        None => None,
                    };
                    state.size = number(&operation, 1);
                }
                _ => self.text_operation(&operation, &mut state),
            }
        }
        Ok(())
    }

    fn text_operation(&mut self, operation: &Instruction<'_, '_>, state: &mut State<'a>) {
        let at = |index: usize| number(operation, index);
        match &**operation.operator {
            b"BT" => (state.text, state.line) = (Affine::IDENTITY, Affine::IDENTITY),
            b"Tc" => state.character_space = at(0),
            b"Tw" => state.word_space = at(0),
            b"Tz" => state.scale = at(0) / 100.0,
            b"TL" => state.leading = at(0),
            b"Ts" => state.rise = at(0),
            b"Td" => state.next_line(at(0), at(1)),
            b"TD" => {
                state.leading = -at(1);
                state.next_line(at(0), at(1));
            }
            b"Tm" => (state.text, state.line) = (matrix(operation), matrix(operation)),
            b"T*" => state.next_line(0.0, -state.leading),
            b"Tj" => self.show_operand(operation, 0, state),
            b"'" => {
                state.next_line(0.0, -state.leading);
                self.show_operand(operation, 0, state);
            }
            b"\"" => {
                (state.word_space, state.character_space) = (at(0), at(1));
                state.next_line(0.0, -state.leading);
                self.show_operand(operation, 2, state);
            }
            b"TJ" => {
                let Some(Object::Array(array)) = operation.operands().next() else { return };
                for item in array.iter::<Object<'_>>() {
                    match item {
                        Object::String(text) => self.show(text.as_bytes(), state),
                        Object::Number(shift) => {
                            let shift = -shift.as_f64() / 1000.0 * state.size;
                            let is_upright = state.font.as_ref().is_none_or(|font| font.font.is_horizontal());
                            let step = if is_upright { (shift * state.scale, 0.0) } else { (0.0, shift) };
                            state.text *= Affine::translate(step);
                        }
                        Object::Null(_)
                        | Object::Boolean(_)
                        | Object::Dict(_)
                        | Object::Array(_)
                        | Object::Name(_)
                        | Object::Stream(_) => {}
                    }
                }
            }
            _ => {}
        }
    }

    fn show_operand(&mut self, operation: &Instruction<'_, '_>, index: usize, state: &mut State<'a>) {
        if let Some(Object::String(text)) = operation.operands().nth(index) {
            self.show(text.as_bytes(), state);
        }
    }

    /// Shows a string, glyph by glyph.
    fn show(&mut self, bytes: &[u8], state: &mut State<'a>) {
        let Some(shown) = state.font.clone() else { return };
        let font = &shown.font;
        let mut at = 0;
        while at < bytes.len() && self.content.glyphs.len() < MOST_GLYPHS {
            let (code, length) = font.read_code(bytes, at);
            at += length.max(1);
            let advance = font.code_advance(code) / 1000.0 * state.size;
            let space = if code == 32 && length == 1 { state.word_space } else { 0.0 };
            let step = if font.is_horizontal() {
                ((advance.x + state.character_space + space) * state.scale, 0.0)
            } else {
                (0.0, advance.y + state.character_space + space)
            };
            let width = if font.is_horizontal() { advance.x * state.scale } else { state.size };
            self.glyph(&shown, code, state, width);
            state.text *= Affine::translate(step);
        }
    }

    fn glyph(&mut self, shown: &ShownFont<'a>, code: u32, state: &State<'a>, width: f64) {
        let ShownFont { font, is_bold, face } = shown;
        let glyph = match font.glyph(font.map_code(code), code) {
            FontGlyph::Outline(glyph) => glyph.as_unicode(),
            FontGlyph::Type3(glyph) => glyph.as_unicode(),
        };
        let text = match glyph {
            Some(BfString::Char(character)) => character.to_string(),
            Some(BfString::String(text)) => text,
            None => {
                self.content.unknown += 1;
                return;
            }
        };
        let text = visible(&text);
        if text.is_empty() {
            return;
        }
        let place = state.page * state.text;
        let [a, b, c, d, ..] = place.as_coeffs();
        let turn = turn_of(a, b);
        let start = turned(place * Point::new(0.0, state.rise), turn);
        let end = turned(place * Point::new(width, state.rise), turn);
        let size = (state.size * c.hypot(d)).abs();
        let seen = place * Point::new(0.0, 0.0);
        let is_shown = (-2.0..self.width + 2.0).contains(&seen.x) && (-2.0..self.height + 2.0).contains(&seen.y);
        if !is_shown || !size.is_finite() || size < 0.5 || !start.is_finite() || !end.is_finite() {
            return;
        }
        let (left, right) = (start.x.min(end.x), start.x.max(end.x));
        self.content.glyphs.push(PdfGlyph {
            text,
            left,
            right,
            base: start.y,
            size,
            is_bold: *is_bold,
            face: *face,
            turn,
        });
    }

    /// Shows a form, or notes a picture.
    fn object(
        &mut self,
        form: &Stream<'a>,
        resources: &Resources<'a>,
        state: &State<'a>,
        depth: usize,
    ) -> Result<(), ReadError> {
        let dict = form.dict();
        let kind = dict.get::<Name<'a>>(keys::SUBTYPE);
        if kind.as_deref() == Some(keys::IMAGE) {
            let [a, b, c, d, ..] = state.page.as_coeffs();
            let covered = (a * d - b * c).abs() / (self.width * self.height).max(1.0);
            self.content.pictures += covered.min(1.0);
            return Ok(());
        }
        let key = dict.data().as_ptr() as usize;
        if kind.as_deref() != Some(keys::FORM) || depth >= DEEPEST || !self.open.insert(key) {
            return Ok(());
        }
        self.budget.take(form)?;
        let mut inner = state.clone();
        if let Some(matrix) = dict.get::<[f64; 6]>(keys::MATRIX) {
            inner.page *= Affine::new(matrix);
        }
        let own = dict.get::<Dict<'a>>(keys::RESOURCES).map(Resources::new);
        if let Ok(data) = form.decoded_data() {
            self.run(&data, own.as_ref().unwrap_or(resources), inner, depth + 1)?;
        }
        self.open.remove(&key);
        Ok(())
    }

    /// Shows what form fields hold, and notes typed onto the page.
    fn fields(&mut self, page: &Dict<'a>, transform: Affine) -> Result<(), ReadError> {
        let Some(annotations) = page.get::<Array<'a>>(keys::ANNOTS) else { return Ok(()) };
        for annotation in annotations.iter::<Dict<'a>>().take(10_000) {
            let kind = annotation.get::<Name<'a>>(keys::SUBTYPE);
            if !matches!(kind.as_deref(), Some(b"Widget" | b"FreeText")) {
                continue;
            }
            let look = annotation.get::<Dict<'a>>(keys::AP).and_then(|look| look.get::<Stream<'a>>(keys::N));
            let (Some(look), Some(frame)) = (look, annotation.get::<Rect>(keys::RECT)) else { continue };
            let own = look.dict().get::<Rect>(keys::BBOX);
            let (x, y) = own.map_or((frame.x0, frame.y0), |own| (frame.x0 - own.x0, frame.y0 - own.y0));
            let state = State::new(transform * Affine::translate((x, y)));
            self.object(&look, &Resources::new(Dict::empty()), &state, 1)?;
        }
        Ok(())
    }
}

/// What is to be seen of a glyph's text. Fonts that mean Windows-1252 name its quotes and dashes by control characters.
fn visible(text: &str) -> String {
    let shown = text.chars().filter_map(|c| match c {
        '\u{80}'..='\u{9f}' => WINDOWS_1252.decode(&[c as u8]).0.chars().next().filter(|c| !c.is_control()),
        '\u{fffd}' | '\u{ad}' | '\u{feff}' => None,
        c if c.is_control() => None,
        c => Some(c),
    });
    shown.collect()
}

/// How often text is turned by a quarter, by the direction it runs in.
fn turn_of(x: f64, y: f64) -> u8 {
    if x.abs() >= y.abs() {
        if x >= 0.0 { 0 } else { 2 }
    } else if y > 0.0 {
        1
    } else {
        3
    }
}

/// A point on the page turned so that its text runs to the right.
fn turned(point: Point, turn: u8) -> Point {
    match turn {
        1 => Point::new(point.y, -point.x),
        2 => Point::new(-point.x, -point.y),
        3 => Point::new(-point.y, point.x),
        _ => point,
    }
}

fn number(operation: &Instruction<'_, '_>, index: usize) -> f64 {
    match operation.operands().nth(index) {
        Some(Object::Number(number)) => number.as_f64(),
        _ => 0.0,
    }
}

fn matrix(operation: &Instruction<'_, '_>) -> Affine {
    Affine::new([0, 1, 2, 3, 4, 5].map(|index| number(operation, index)))
}

fn name<'a>(operation: &Instruction<'_, 'a>, index: usize) -> Option<Name<'a>> {
    match operation.operands().nth(index) {
        Some(Object::Name(name)) => Some(name.clone()),
        _ => None,
    }
}
