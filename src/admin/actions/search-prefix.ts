/** Search by the begin of a text, whatever its case, on an index that distinguishes case. */

/** Letters whose case is varied: 2^4 ranges of the index; the others are compared afterwards. */
const LETTERS_MAX = 4

/** The spellings of the begin of a text, each of which begins a range of the index. */
export function caseVariants(text: string): readonly string[] {
  let variants = ['']
  for (const letter of [...text].slice(0, LETTERS_MAX)) {
    const cases = [...new Set([letter, letter.toLowerCase(), letter.toUpperCase()])]
    variants = variants.flatMap((begin) => cases.map((each) => begin + each))
  }
  return variants
}
