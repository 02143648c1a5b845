// Text from files and objects for a terminal or a log: what would move a cursor, begin a line or turn the reading order is spelt out. Pure.

/** Control characters, line and paragraph separators, and the marks of Unicode's bidirectional algorithm. */
// oxlint-disable-next-line no-control-regex
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

export const printable = (text: string): string =>
  text.replaceAll(UNPRINTABLE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
