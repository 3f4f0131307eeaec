//! Texts that are almost right.
//!
//! A reader that is only tried with noise refuses all of it at the first byte. What finds its mistakes is a text that it
//! takes, with a few things changed ([`Damage`]), or one put together of the words that it knows ([`Picks`]). Both come from
//! bytes alone, so that a fuzzer that watches the code can lead them where nobody has been.

use bolero::TypeGenerator;

/// What may be done to a text.
#[derive(Clone, Debug, TypeGenerator)]
enum Edit {
    Remove { at: u16, bytes: u8 },
    Repeat { at: u16, bytes: u8, times: u8 },
    Word { at: u16, word: u16 },
    Replace { at: u16, byte: u8 },
    Flip { at: u16, bit: u8 },
    Insert { at: u16, bytes: [u8; 3] },
    End { at: u16 },
}

/// One of several texts, and what was done to it.
#[derive(Clone, Debug, TypeGenerator)]
pub struct Damage {
    seed: u8,
    #[generator(bolero::generator::produce::<Vec<Edit>>().with().len(0usize..6))]
    edits: Vec<Edit>,
}

impl Damage {
    /// One of these texts after everything was done to it; `words` are those that are put into it.
    pub fn of(&self, seeds: &[&[u8]], words: &[&[u8]]) -> Vec<u8> {
        let mut text = one_of(seeds, self.seed.into()).to_vec();
        for edit in &self.edits {
            edit.apply(&mut text, words);
        }
        text
    }

    /// The same as text; what is none any more is replaced.
    pub fn text(&self, seeds: &[&str], words: &[&str]) -> String {
        let seeds: Vec<&[u8]> = seeds.iter().map(|text| text.as_bytes()).collect();
        let words: Vec<&[u8]> = words.iter().map(|text| text.as_bytes()).collect();
        String::from_utf8_lossy(&self.of(&seeds, &words)).into_owned()
    }
}

impl Edit {
    fn apply(&self, text: &mut Vec<u8>, words: &[&[u8]]) {
        let place = |at: u16| usize::from(at) % (text.len() + 1);
        match *self {
            Self::Remove { at, bytes } => {
                let from = place(at);
                let to = (from + usize::from(bytes)).min(text.len());
                text.drain(from..to);
            }
            Self::Repeat { at, bytes, times } => {
                let from = place(at);
                let to = (from + usize::from(bytes)).min(text.len());
                let again = text[from..to].repeat(usize::from(times % 8));
                text.splice(to..to, again);
            }
            Self::Word { at, word } => {
                let at = place(at);
                text.splice(at..at, one_of(words, word.into()).iter().copied());
            }
            Self::Replace { at, byte } => {
                let at = place(at);
                if let Some(found) = text.get_mut(at) {
                    *found = byte;
                }
            }
            Self::Flip { at, bit } => {
                let at = place(at);
                if let Some(found) = text.get_mut(at) {
                    *found ^= 1 << (bit % 8);
                }
            }
            Self::Insert { at, bytes } => {
                let at = place(at);
                text.splice(at..at, bytes);
            }
            Self::End { at } => text.truncate(place(at)),
        }
    }
}

/// Words of a language, one behind the other, with characters between them that may be of none.
#[derive(Clone, Debug, TypeGenerator)]
pub struct Picks {
    #[generator(bolero::generator::produce::<Vec<(u8, Option<char>)>>().with().len(0usize..10))]
    picks: Vec<(u8, Option<char>)>,
}

impl Picks {
    /// The text. A character of no word comes once in a while.
    pub fn of(&self, words: &[&str]) -> String {
        let mut text = String::new();
        for (word, odd) in &self.picks {
            match odd {
                Some(odd) if word % 8 == 0 => text.push(*odd),
                _ => text.push_str(one_of(words, (*word).into())),
            }
        }
        text
    }
}

fn one_of<'a, T: ?Sized>(of: &[&'a T], which: usize) -> &'a T {
    of[which % of.len()]
}
