/** One problem: its key (path or variable), its source, and the reason. */
export type ConfigProblem = {
  readonly key: string
  readonly source: string
  readonly reason: string
}

/** The configuration is invalid. Lists all problems; never shows a secret. */
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
 * Removes possible secrets from a URL: everything between `//` (or the beginning) and the last `@`,
 * and the query. Also works on malformed URLs, because errors show those.
 */
export function redactUrl(text: string): string {
  const at = text.lastIndexOf('@')
  const scheme = /^[a-z][a-z0-9+.-]*:\/{0,2}/i.exec(text)?.[0] ?? ''
  const isSchemeOnly = scheme.includes('/')
  const bare = at < 0 ? text : `${isSchemeOnly ? scheme : ''}***${text.slice(at)}`
  return bare.replace(/\?.*$/s, '?***')
}
