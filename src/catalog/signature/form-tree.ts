/** Bracket notation of PHP clients for nested form values: `query[sid]=1`, `states[]=0`. */

export interface FormLimits {
  /** Maximum number of names and nested maps: even a short form can create many. */
  readonly keysMax: number
  readonly depthMax: number
  /** Why a step of a name is refused; null if it is permitted. */
  readonly refusedStep: (step: string) => string | null
}

/** A form that is invalid. */
export class FormError extends Error {
  override name = 'FormError'
  /** The parameter as sent, possibly long; null if the form as a whole is invalid. */
  readonly parameter: string | null
  readonly reason: string

  constructor(parameter: string | null, reason: string) {
    super(reason)
    this.parameter = parameter
    this.reason = reason
  }

  /** Message for the client; `named` shortens names. */
  text(named: (name: string) => string): string {
    return this.parameter === null
      ? this.reason
      : `parameter ${named(this.parameter)}${this.reason}`
  }
}

export type FormNode = Map<string, FormNode | string>

const NAME_LENGTH_MAX = 1_024

/** Collects the pairs of a form in their order; the last value of a repeated name wins. */
export class FormTree {
  readonly #limits: FormLimits
  /** By name: strings, or maps of nested values. */
  readonly root: FormNode = new Map()
  #keys = 0

  constructor(limits: FormLimits) {
    this.#limits = limits
  }

  /**
   * Throws `FormError` if a name is not permitted, nested too deeply, or exceeds the number of
   * pairs.
   */
  add(name: string, value: string): void {
    const { depthMax, refusedStep } = this.#limits
    this.#countKey()
    const steps = stepsOf(name, depthMax)
    let node = this.root
    for (const [index, given] of steps.entries()) {
      const step = given === '' && index > 0 ? String(node.size) : given
      const isTaken = step !== given && node.has(step)
      const reason = isTaken ? 'mixes [] with numbers' : refusedStep(step)
      if (reason !== null) throw new FormError(name, `: ${step} ${reason}`)
      if (index === steps.length - 1) {
        node.set(step, value)
        return
      }
      const child = node.get(step)
      if (child instanceof Map) {
        node = child
        continue
      }
      this.#countKey()
      const next: FormNode = new Map()
      node.set(step, next)
      node = next
    }
  }

  #countKey(): void {
    const { keysMax } = this.#limits
    this.#keys += 1
    if (this.#keys > keysMax) throw new FormError(null, `there are more than ${keysMax} parameters`)
  }
}

/** `query[$or][0][sid]` → query, $or, 0, sid; names with other uses of brackets are not split. */
function stepsOf(name: string, depthMax: number): readonly string[] {
  if (name.length > NAME_LENGTH_MAX) throw new FormError(name, ' has too long a name')
  const match = /^([^[\]]+)((?:\[[^[\]]*\])+)$/.exec(name)
  const [, first, brackets] = match ?? []
  if (first === undefined || brackets === undefined) return [name]
  const steps = [first, ...brackets.slice(1, -1).split('][')]
  if (steps.length <= depthMax) return steps
  throw new FormError(name, ` is nested deeper than ${depthMax} levels`)
}

/**
 * Adds the pairs of a query string or of an `application/x-www-form-urlencoded` body. Throws
 * `FormError`, also for invalid percent-encoding.
 */
export function addForm(text: string, form: Pick<FormTree, 'add'>): void {
  for (let from = 0; from < text.length; ) {
    const found = text.indexOf('&', from)
    const end = found < 0 ? text.length : found
    if (end > from) addPair(text.slice(from, end), form)
    from = end + 1
  }
}

function addPair(pair: string, form: Pick<FormTree, 'add'>): void {
  const equals = pair.indexOf('=')
  const name = decoded(equals < 0 ? pair : pair.slice(0, equals), pair)
  form.add(name, equals < 0 ? '' : decoded(pair.slice(equals + 1), name))
}

function decoded(text: string, name: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw new FormError(name, ' is not valid form encoding')
  }
}
