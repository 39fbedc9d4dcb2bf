/** Commonly used passwords: a dictionary loaded on first use. */

let loading: Promise<ReadonlySet<string>> | undefined

/**
 * Loading takes about 30 ms and 5 MB. The dictionary has more than 49,000 lower-case passwords, the
 * most common first.
 */
function commonPasswords(): Promise<ReadonlySet<string>> {
  loading ??= import('@zxcvbn-ts/language-common').then(
    ({ dictionary }) => new Set(dictionary['passwords-common']),
  )
  return loading
}

/** A password that repeats a shorter unit is among the first that attackers try. */
const UNIT_CHARACTERS_MIN = 5

/**
 * Whether a lower-case password is common, or repeats a common or very short one: `letmeinletmein`,
 * `abcabcabcabc`.
 */
export async function isCommon(lower: string): Promise<boolean> {
  const common = await commonPasswords()
  const unit = repeatedUnit(lower)
  return common.has(lower) || common.has(unit) || [...unit].length < UNIT_CHARACTERS_MIN
}

/** The shortest unit whose repetition is the whole text; the text itself if it repeats no unit. */
function repeatedUnit(text: string): string {
  // A text repeats a unit of length n if and only if it occurs at position n of its own double.
  return text.slice(0, (text + text).indexOf(text, 1))
}
