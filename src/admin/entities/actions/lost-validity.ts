/**
 * A change after which an entity holds for less time than before: `close`, `move`, or a
 * `closeandnew` with an end. What somebody needs then is refused, unless the caller insists.
 */
import type { RawDocument } from '../../../catalog/compile/document.ts'
import { FOREVER_MS } from '../../../domain/time.ts'
import type { ActionName, CollectionDefinition } from '../definitions/definition.ts'
import { DISPLAY, EntityRuleError, InUseError } from '../errors.ts'
import type { CollectionRules, RuleContext } from '../rules/rule.ts'
import { dateText } from '../timeline/dates.ts'
import type { Draft } from '../timeline/draft.ts'
import { type Span, spanOf, uncovered } from '../timeline/spans.ts'

/** Revisions as they were, each with the time in which nothing of the entity holds any more. */
export function lostValidity(draft: Draft): RawDocument[] {
  const held = draft.revisions().map(spanOf)
  return draft.before().flatMap((revision) =>
    uncovered(spanOf(revision), held).map(({ fromMs, toMs }) => {
      return { ...revision, from: new Date(fromMs), to: new Date(toMs) }
    }),
  )
}

export interface ValidityLossContext {
  definition: CollectionDefinition
  action: ActionName
  rules: CollectionRules | undefined
  context: RuleContext
  /** Whether the caller insists. */
  isForced: boolean
}

/** An account is closed before its last subscribers are, as existing clients do. */
const ALWAYS_ALLOWED: ReadonlySet<string> = new Set(['accounts'])

/** What the caller is told of those who need it all the same. Throws `EntityRuleError`. */
export async function lostValidityWarnings(
  lost: readonly RawDocument[],
  { definition, action, rules, context, isForced }: ValidityLossContext,
): Promise<string[]> {
  const warnings: string[] = []
  for (const revision of lost) {
    try {
      await rules?.checkUnused?.(revision, context)
    } catch (error) {
      if (!(error instanceof InUseError)) throw error
      const when = periodText(spanOf(revision), context.zone)
      const needed = `${when} it is needed by ${error.usedBy}`
      if (!isForced && !ALWAYS_ALLOWED.has(definition.name)) {
        const help = 'change them first, or repeat the call with force'
        const text = `${action}: ${error.what} would not hold ${needed}: ${help}`
        throw new EntityRuleError(text, DISPLAY.refused)
      }
      warnings.push(`${error.what} does not hold ${needed}`)
    }
  }
  return warnings
}

function periodText({ fromMs, toMs }: Span, zone: string): string {
  const from = `from ${dateText(fromMs, zone)}`
  return toMs >= FOREVER_MS ? `${from} on, when` : `${from} to ${dateText(toMs, zone)}, when`
}
