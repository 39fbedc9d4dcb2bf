/** One thing that is wrong: which key (path or variable), written where, and why. */
export type ConfigProblem = {
  readonly key: string
  readonly source: string
  readonly reason: string
}

/** The configuration cannot be used. Lists all problems at once; never shows a secret. */
export class ConfigError extends Error {
  readonly problems: readonly ConfigProblem[]

  constructor(problems: readonly ConfigProblem[]) {
    const lines = problems.map(({ key, source, reason }) => `  ${key} ${reason} (${source})`)
    super(['configuration is not usable:', ...lines].join('\n'))
    this.name = 'ConfigError'
    this.problems = problems
  }
}

/**
 * The same text without what may be secret: all between `//` (or the beginning) and the last `@`,
 * and a query. Works on what is not a correct URL too, because that is when errors show it.
 */
export function redactUrl(text: string): string {
  const at = text.lastIndexOf('@')
  const scheme = /^[a-z][a-z0-9+.-]*:\/{0,2}/i.exec(text)?.[0] ?? ''
  const isSchemeOnly = scheme.includes('/')
  const bare = at < 0 ? text : `${isSchemeOnly ? scheme : ''}***${text.slice(at)}`
  return bare.replace(/\?.*$/s, '?***')
}
