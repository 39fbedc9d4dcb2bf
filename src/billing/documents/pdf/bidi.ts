/** Order of characters on a line with texts in both directions (Unicode UAX 9), and line breaks. */
import bidiFactory from 'bidi-js'

export type Direction = 'ltr' | 'rtl'

/** A part of a line that is drawn at once; the parts are in the order from left to right. */
export interface VisualRun {
  /**
   * Right-to-left script in its logical order, which the shaping of the font turns round; all else
   * in visual order.
   */
  readonly text: string
}

/** The module has a factory as its only export, which the types say of its default export. */
const bidi = (bidiFactory as unknown as typeof bidiFactory.default)()
/** Marks and embeddings that have no glyph. */
const CONTROLS = /[\u200e\u200f\u202a-\u202e\u2066-\u2069\p{Cc}]/gu
const RIGHT_TO_LEFT = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}]/u

/** Whether a text has characters of a right-to-left script. */
export function isRightToLeft(text: string): boolean {
  return RIGHT_TO_LEFT.test(text)
}

/** The direction of the first letter, as in `<bdi>` of HTML; left to right for numbers alone. */
export function directionOf(text: string): Direction {
  const [first] = /[\p{L}\u200e\u200f]/u.exec(text) ?? []
  if (first === undefined || first === '\u200e') return 'ltr'
  return first === '\u200f' || isRightToLeft(first) ? 'rtl' : 'ltr'
}

/** `base`: direction of the whole text. */
export function visualRuns(line: string, base: Direction): readonly VisualRun[] {
  if (line === '') return []
  const embedding = bidi.getEmbeddingLevels(line, base)
  const mirrored = bidi.getMirroredCharactersMap(line, embedding.levels)
  const order = bidi.getReorderedIndices(line, embedding)
  const levelAt = (index: number) => embedding.levels[index] ?? 0
  const runs: VisualRun[] = []
  let at = 0
  while (at < order.length) {
    const first = order[at] ?? 0
    const level = levelAt(first)
    const step = level % 2 === 0 ? 1 : -1
    let end = at + 1
    while (end < order.length && order[end] === first + step * (end - at)) {
      if (levelAt(order[end] ?? 0) !== level) break
      end += 1
    }
    const indices = order.slice(at, end).sort((a, b) => a - b)
    const logical = indices.map((index) => mirrored.get(index) ?? line[index] ?? '').join('')
    const text = runText(logical.replace(CONTROLS, ''), step < 0)
    if (text !== '') runs.push({ text })
    at = end
  }
  return runs
}

function runText(logical: string, isReversed: boolean): string {
  if (!isReversed || RIGHT_TO_LEFT.test(logical)) return logical
  return [...logical].reverse().join('')
}

/**
 * Lines of at most `width`, broken at spaces, or within a word that is longer than a line. At most
 * `linesMax` lines, the last one then ends with an ellipsis.
 */
export function wrapText(
  text: string,
  width: number,
  linesMax: number,
  widthOf: (text: string) => number,
): readonly string[] {
  const lines: string[] = []
  for (const paragraph of text.split(/\r\n|[\n\r\u2028\u2029]/)) {
    let line = ''
    for (const word of paragraph.split(/[ \t]+/).flatMap((part) => pieces(part, width, widthOf))) {
      const longer = line === '' ? word : `${line} ${word}`
      if (line === '' || widthOf(longer) <= width) {
        line = longer
        continue
      }
      lines.push(line)
      if (lines.length > linesMax) break
      line = word
    }
    lines.push(line)
    if (lines.length > linesMax) break
  }
  if (lines.length <= linesMax) return lines
  const last = lines[linesMax - 1] ?? ''
  return [...lines.slice(0, linesMax - 1), `${last.slice(0, -1)}…`]
}

/** Parts of a word, each as long as fits into the width. */
function pieces(word: string, width: number, widthOf: (text: string) => number): readonly string[] {
  if (widthOf(word) <= width) return [word]
  const parts: string[] = []
  let part = ''
  for (const { segment } of new Intl.Segmenter().segment(word)) {
    if (part !== '' && widthOf(part + segment) > width) {
      parts.push(part)
      part = ''
    }
    part += segment
  }
  return [...parts, part]
}
