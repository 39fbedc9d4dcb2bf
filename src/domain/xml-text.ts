/** Texts in XML documents. */

const SPECIAL = /[&<>\p{Cc}\p{Cs}\p{Noncharacter_Code_Point}]/u
const EACH_SPECIAL = new RegExp(SPECIAL, 'gu')
/**
 * The special characters that can be written. A literal carriage return would be read as a line
 * feed.
 */
const WRITTEN = new Map([
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
  ['\r', '&#13;'],
  ['\n', '\n'],
  ['\t', '\t'],
])

/** Text as element content, without characters that XML forbids or discourages. */
export function escapeXml(text: string): string {
  if (!SPECIAL.test(text)) return text
  return text.replace(EACH_SPECIAL, (char) => WRITTEN.get(char) ?? '')
}
