/** Plays: kinds of subscribers that plans and services are restricted to. */
import { type Fields, isUnset } from '../../domain/fields.ts'
import { EntityRuleError, fieldRule } from '../../requests/errors.ts'
import { cachedRead } from './lookups.ts'
import type { RuleContext } from './rule.ts'
import { fieldsOf, listOf } from './values.ts'

export interface Plays {
  /** Names of the enabled plays. */
  names: readonly string[]
  /** Null if there is no default. */
  default: string | null
}

/** Category of the stored configuration: `{ plays: [{ name, enabled, default }] }`. */
const CATEGORY = 'plays'

/** Null if fewer than two plays are enabled; plays are not checked then. */
export function readPlays(context: RuleContext): Promise<Plays | null> {
  const { catalog } = context
  return cachedRead(context, 'plays', async () => {
    const found = await catalog.config.findOne({ _id: CATEGORY })
    const plays = listOf(fieldsOf(found?.value)['plays']).map(fieldsOf)
    const enabled = plays.filter((play) => play['enabled'] === true && !isUnset(play['name']))
    if (enabled.length < 2) return null
    const first = enabled.find((play) => play['default'] === true)
    return {
      names: enabled.map((play) => String(play['name'])),
      default: first === undefined ? null : String(first['name']),
    }
  })
}

/**
 * The play of a subscriber. Throws `EntityRuleError` if it has none, or one that is not enabled.
 */
export function playOf({ play }: Fields, plays: Plays): string {
  const name = isUnset(play) ? plays.default : String(play)
  if (name !== null && plays.names.includes(name)) return name
  const known = plays.names.join(', ')
  if (name === null) throw fieldRule('play', `is missing: one of ${known}`, 'missing')
  throw fieldRule('play', `must be one of ${known}, is ${name}`)
}

/** Throws `EntityRuleError` if a plan or service is restricted to other plays. */
export function checkOffered(what: string, offer: Fields | undefined, play: string): void {
  const given = offer?.['play']
  const plays = Array.isArray(given) ? given : isUnset(given) ? [] : [given]
  if (plays.length === 0 || plays.includes(play)) return
  throw new EntityRuleError(
    `${what} is not offered for play ${play}, only for ${plays.join(', ')}`,
    { path: 'play' },
  )
}
