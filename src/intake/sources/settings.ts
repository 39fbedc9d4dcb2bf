/** Sources of the intake: `intake.sources` of the configuration. */
import { Type } from '@sinclair/typebox'
import type { Config } from '../../config/schema.ts'
import { settingsAt, TransferSettingsError } from '../../transfer/settings.ts'

const text = (minLength: number) => Type.String({ minLength, maxLength: 256 })

const SOURCE = Type.Object(
  {
    place: text(1),
    fileType: text(1),
    folder: Type.Optional(text(0)),
    pattern: Type.Optional(text(1)),
    stableMs: Type.Optional(Type.Integer({ minimum: 0, maximum: 86_400_000 })),
    marker: Type.Optional(text(1)),
  },
  { additionalProperties: false },
)

export interface SourceSettings {
  readonly name: string
  /** A name of `transfer.places`. */
  readonly place: string
  /** A folder of the place; empty: its root. */
  readonly folder: string
  readonly fileType: string
  isNamed(baseName: string): boolean
  /** A file is complete when it has not changed for so long. */
  readonly stableMs: number
  /** A file is complete when there is one with this name after its own; null: see `stableMs`. */
  readonly marker: string | null
}

const STABLE_MS = 30_000

/** Throws `TransferSettingsError`, also without any source. */
export function sourcesOf(sources: Config['intake']['sources']): SourceSettings[] {
  const entries = Object.entries(sources)
  if (entries.length === 0) throw new TransferSettingsError('intake.sources is empty')
  return entries.map(([name, given]) => {
    const path = `intake.sources.${name}`
    // Part of the path of a folder, and of labels of metrics.
    if (!/^[A-Za-z0-9_-]{1,64}$/.test(name)) {
      const reason = 'must be a name of up to 64 letters, digits, _ and -'
      throw new TransferSettingsError(`${path} ${reason}`)
    }
    const source = settingsAt(SOURCE, given, path)
    const { place, fileType, folder = '', pattern = '*', marker = null } = source
    if (marker !== null && source.stableMs !== undefined) {
      const reason = 'has marker and stableMs: one of them says when a file is complete'
      throw new TransferSettingsError(`${path} ${reason}`)
    }
    const { stableMs = STABLE_MS } = source
    const isNamed = matcherOf(pattern)
    return { name, place, fileType, folder: folder.replace(/\/+$/, ''), isNamed, stableMs, marker }
  })
}

/** `*` stands for any characters, `?` for one. */
function matcherOf(pattern: string): (baseName: string) => boolean {
  const literal = pattern.replace(/\*+/g, '*').replace(/[\\^$.|+()[\]{}]/g, '\\$&')
  const regex = new RegExp(`^${literal.replaceAll('*', '.*').replaceAll('?', '.')}$`, 'su')
  return (baseName) => regex.test(baseName)
}
