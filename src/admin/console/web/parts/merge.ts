/** Merges two edits of one revision, field by field. Values are texts of a form. */

export type Texts = Readonly<Record<string, string>>

/** A field that both have set, to different values. */
export interface Clash {
  readonly field: string
  readonly mine: string
  readonly theirs: string
}

export interface Merge {
  readonly clashes: readonly Clash[]
  /** Fields that only the other one has changed: they stay as they are stored. */
  readonly theirs: readonly { readonly field: string; readonly before: string; after: string }[]
}

/** `base`: as the form was opened; `mine`: as it is now; `stored`: as it was saved meanwhile. */
export function mergeOf(base: Texts, mine: Texts, stored: Texts): Merge {
  const fields = Object.keys(base)
  const isMine = (field: string) => mine[field] !== base[field]
  const isTheirs = (field: string) => stored[field] !== base[field]
  const textOf = (texts: Texts, field: string) => texts[field] ?? ''
  return {
    clashes: fields
      .filter((each) => isMine(each) && isTheirs(each) && mine[each] !== stored[each])
      .map((field) => ({ field, mine: textOf(mine, field), theirs: textOf(stored, field) })),
    theirs: fields
      .filter((each) => !isMine(each) && isTheirs(each))
      .map((field) => ({ field, before: textOf(base, field), after: textOf(stored, field) })),
  }
}

export type Choice = 'mine' | 'theirs'

/** The fields of `after` that differ from `before`. */
export function changesOf(before: Texts, after: Texts): Texts {
  return Object.fromEntries(Object.entries(after).filter(([name, text]) => text !== before[name]))
}
