/** How large a message may be that parsers of file types take, whatever its syntax. */
export const messageLimits = {
  /** Records and lists within each other. */
  depth: 32,
  /** Fields of records and elements of lists, in all. */
  members: 4096,
  /** Characters of the name of a field. */
  nameChars: 256,
} as const

/** What is said of the `body` beyond them. */
export const limitProblems = {
  depth: `is nested deeper than ${messageLimits.depth}`,
  members: `has more than ${messageLimits.members} fields`,
  nameChars: `has a name of more than ${messageLimits.nameChars} characters`,
} as const
