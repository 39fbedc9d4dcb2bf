/** Sources of the intake: `intake.sources` of the configuration. */
import { SettingError, type SourceEntry, sourceEntry } from '../../config/places.ts'
import type { Config } from '../../config/schema.ts'

export interface SourceSettings extends Omit<SourceEntry, 'pattern'> {
  isNamed(baseName: string): boolean
}

/** Throws `SettingError`, also without any source. */
export function sourcesOf(sources: Config['intake']['sources']): SourceSettings[] {
  const entries = Object.entries(sources)
  if (entries.length === 0) throw new SettingError('intake.sources', 'is empty')
  return entries.map(([name, given]) => {
    const { pattern, ...settings } = sourceEntry(name, given)
    return { ...settings, isNamed: matcherOf(pattern) }
  })
}

function matcherOf(pattern: string): (baseName: string) => boolean {
  const literal = pattern.replace(/\*+/g, '*').replace(/[\\^$.|+()[\]{}]/g, '\\$&')
  const regex = new RegExp(`^${literal.replaceAll('*', '.*').replaceAll('?', '.')}$`, 'su')
  return (baseName) => regex.test(baseName)
}
