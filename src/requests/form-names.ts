/** Form parsing with limits on names and nesting; names must be safe as object keys. */
import { addForm, FormError, FormTree } from '../catalog/signature/form-tree.ts'
import { EntityRuleError } from './errors.ts'
import { DEPTH_MAX, KEYS_MAX } from './json-limits.ts'
import { unsafeName } from './names.ts'
import { truncatedName } from './problems.ts'
import type { OrderedParameters } from './raw-parameters.ts'

const LIMITS = { keysMax: KEYS_MAX, depthMax: DEPTH_MAX, refusedStep: unsafeName }

/** Collects the pairs of a form; the last one of a repeated name wins. */
export class FormParameters {
  readonly #tree = new FormTree(LIMITS)

  /** Throws `EntityRuleError` for invalid names, too deep nesting or too many pairs. */
  add(name: string, value: string): void {
    this.#asRuleError(() => this.#tree.add(name, value))
  }

  /**
   * Adds the pairs of a query string or a body of `application/x-www-form-urlencoded`. Throws
   * `EntityRuleError`, also for invalid percent encoding.
   */
  addText(text: string): void {
    this.#asRuleError(() => addForm(text, this.#tree))
  }

  /** Texts, or objects and lists of texts. */
  values(): Map<string, unknown> {
    return new Map([...this.#tree.root].map(([name, node]) => [name, plainValue(node)]))
  }

  /** The parameters in the order in which they were sent. */
  ordered(): OrderedParameters {
    return this.#tree.root
  }

  #asRuleError(add: () => void): void {
    try {
      add()
    } catch (error) {
      if (!(error instanceof FormError)) throw error
      const path = truncatedName(error.parameter ?? '')
      throw new EntityRuleError(error.text(truncatedName), [{ path, reason: error.reason }])
    }
  }
}

/** An object with the consecutive keys 0, 1, … is a list. */
function plainValue(node: unknown): unknown {
  if (!(node instanceof Map)) return node
  const keys = [...node.keys()]
  if (keys.every((key, index) => key === String(index))) return [...node.values()].map(plainValue)
  return Object.fromEntries([...node].map(([key, value]) => [key, plainValue(value)]))
}
