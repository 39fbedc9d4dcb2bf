/** Size limits of messages for parsers of file types, in any syntax. */
export const messageLimits = {
  /** Nesting of records and lists. */
  depth: 32,
  /** Fields of records and elements of lists in total. */
  members: 4096,
  /** Characters of a field name. */
  nameChars: 256,
} as const

/** Problems of a `body` beyond these limits. */
export const limitProblems = {
  depth: `is nested deeper than ${messageLimits.depth}`,
  members: `has more than ${messageLimits.members} fields`,
  nameChars: `has a name of more than ${messageLimits.nameChars} characters`,
} as const
