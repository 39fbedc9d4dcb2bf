/** The passwords that guessing begins with: a dictionary that is loaded when it is first needed. */

let loading: Promise<ReadonlySet<string>> | undefined

/**
 * Loading takes some 30 ms and 5 MB. The dictionary has more than 49,000 passwords in lower case,
 * the most common first.
 */
function commonPasswords(): Promise<ReadonlySet<string>> {
  loading ??= import('@zxcvbn-ts/language-common').then(
    ({ dictionary }) => new Set(dictionary['passwords-common']),
  )
  return loading
}

/** A shorter unit makes a password that is guessed with the first patterns. */
const UNIT_CHARACTERS_MIN = 5

/**
 * Whether a password, in lower case, is a common one, or repeats a common or very short one:
 * `letmeinletmein`, `abcabcabcabc`.
 */
export async function isCommon(lower: string): Promise<boolean> {
  const common = await commonPasswords()
  const unit = repeatedUnit(lower)
  return common.has(lower) || common.has(unit) || [...unit].length < UNIT_CHARACTERS_MIN
}

/** The shortest text that the whole repeats; the whole itself if it repeats none. */
function repeatedUnit(text: string): string {
  // A text repeats a unit of that length if it is found in its own double there.
  return text.slice(0, (text + text).indexOf(text, 1))
}
