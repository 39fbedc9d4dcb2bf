/** Names with brackets, as PHP clients nest values in a form: `query[sid]=1`, `states[]=0`. */
import { RuleError } from '../errors.ts'
import { DEPTH_MAX, KEYS_MAX } from './json-limits.ts'
import { unsafeName } from './names.ts'
import { toldName } from './problems.ts'

const NAME_LENGTH_MAX = 1_024

type Node = Map<string, Node | string>

/** Collects the pairs of a form; of repeated names the last one wins. */
export class FormParameters {
  readonly #root: Node = new Map()
  #pairs = 0

  /** Throws `RuleError` for a name that is not allowed, too deep nesting, or too many pairs. */
  add(name: string, value: string): void {
    this.#pairs += 1
    if (this.#pairs > KEYS_MAX) throw new RuleError(`there are more than ${KEYS_MAX} parameters`)
    const steps = stepsOf(name)
    let node = this.#root
    for (const [index, given] of steps.entries()) {
      const step = given === '' && index > 0 ? String(node.size) : given
      const isTaken = step !== given && node.has(step)
      const reason = isTaken ? 'mixes [] with numbers' : unsafeName(step)
      if (reason !== null) throw new RuleError(`parameter ${toldName(name)}: ${step} ${reason}`)
      if (index === steps.length - 1) {
        node.set(step, value)
        return
      }
      const known = node.get(step)
      const next: Node = known instanceof Map ? known : new Map()
      node.set(step, next)
      node = next
    }
  }

  /** Texts, or objects and lists of texts. */
  values(): Map<string, unknown> {
    return new Map([...this.#root].map(([name, node]) => [name, plainValue(node)]))
  }
}

/** `query[$or][0][sid]` → query, $or, 0, sid; a name with other brackets stays as it is. */
function stepsOf(name: string): readonly string[] {
  if (name.length > NAME_LENGTH_MAX) {
    throw new RuleError(`parameter ${toldName(name)} has a name that is too long`)
  }
  const match = /^([^[\]]+)((?:\[[^[\]]*\])+)$/.exec(name)
  const [, first, brackets] = match ?? []
  if (first === undefined || brackets === undefined) return [name]
  const steps = [first, ...brackets.slice(1, -1).split('][')]
  if (steps.length <= DEPTH_MAX) return steps
  const reason = `is nested deeper than ${DEPTH_MAX} levels`
  throw new RuleError(`parameter ${toldName(name)} ${reason}`)
}

/** An object whose keys count from 0 is a list. */
function plainValue(node: Node | string): unknown {
  if (typeof node === 'string') return node
  const keys = [...node.keys()]
  if (keys.every((key, index) => key === String(index))) return [...node.values()].map(plainValue)
  return Object.fromEntries([...node].map(([key, value]) => [key, plainValue(value)]))
}

/**
 * Adds the pairs of a query string, or of a body of `application/x-www-form-urlencoded`. Throws
 * `RuleError` for a percent sign that encodes no text.
 */
export function addForm(text: string, form: FormParameters): void {
  for (let from = 0; from < text.length; ) {
    const found = text.indexOf('&', from)
    const end = found < 0 ? text.length : found
    if (end > from) addPair(text.slice(from, end), form)
    from = end + 1
  }
}

function addPair(pair: string, form: FormParameters): void {
  const equals = pair.indexOf('=')
  const name = decode(equals < 0 ? pair : pair.slice(0, equals), pair)
  form.add(name, equals < 0 ? '' : decode(pair.slice(equals + 1), name))
}

function decode(text: string, name: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw new RuleError(`parameter ${toldName(name)} is not encoded as a form`)
  }
}
