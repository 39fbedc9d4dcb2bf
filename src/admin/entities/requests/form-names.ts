/** Forms as this API takes them: names within bounds, and safe as those of objects. */
import { addForm, FormError, FormTree } from '../../../catalog/signature/form-tree.ts'
import { EntityRuleError } from '../errors.ts'
import { DEPTH_MAX, KEYS_MAX } from './json-limits.ts'
import { unsafeName } from './names.ts'
import { truncatedName } from './problems.ts'
import type { SentParameters } from './raw-parameters.ts'

const LIMITS = { keysMax: KEYS_MAX, depthMax: DEPTH_MAX, refusedStep: unsafeName }

/** Collects the pairs of a form; of repeated names the last one wins. */
export class FormParameters {
  readonly #tree = new FormTree(LIMITS)

  /** Throws `EntityRuleError` for a name that is not allowed, too deep nesting, or too many pairs. */
  add(name: string, value: string): void {
    this.#asRuleError(() => this.#tree.add(name, value))
  }

  /**
   * Adds the pairs of a query string, or of a body of `application/x-www-form-urlencoded`. Throws
   * `EntityRuleError`, also for a percent sign that encodes no text.
   */
  addText(text: string): void {
    this.#asRuleError(() => addForm(text, this.#tree))
  }

  /** Texts, or objects and lists of texts. */
  values(): Map<string, unknown> {
    return new Map([...this.#tree.root].map(([name, node]) => [name, plainValue(node)]))
  }

  /** The same as it was sent. */
  sent(): SentParameters {
    return this.#tree.root
  }

  #asRuleError(add: () => void): void {
    try {
      add()
    } catch (error) {
      throw error instanceof FormError ? new EntityRuleError(error.text(truncatedName)) : error
    }
  }
}

/** An object whose keys count from 0 is a list. */
function plainValue(node: unknown): unknown {
  if (!(node instanceof Map)) return node
  const keys = [...node.keys()]
  if (keys.every((key, index) => key === String(index))) return [...node.values()].map(plainValue)
  return Object.fromEntries([...node].map(([key, value]) => [key, plainValue(value)]))
}
