/**
 * Changes that shorten the validity of an entity: `close`, `move`, or `closeandnew` with an end.
 * They are refused if another entity needs it in the lost period, unless the caller forces the
 * change.
 */
import type { RawDocument } from '../../catalog/compile/document.ts'
import { FOREVER_MS } from '../../domain/time.ts'
import { DISPLAY, EntityRuleError, InUseError } from '../../requests/errors.ts'
import type { ActionName } from '../definitions/definition.ts'
import type { CollectionRules, RuleContext } from '../rules/rule.ts'
import { dateText } from '../timeline/dates.ts'
import type { Draft } from '../timeline/draft.ts'
import { type RevisionSpan, spanOf, uncovered } from '../timeline/spans.ts'

/** Revisions before the change, each limited to a period that no revision covers after it. */
export function lostValidity(draft: Draft): RawDocument[] {
  const remaining = draft.revisions().map(spanOf)
  return draft.before().flatMap((revision) =>
    uncovered(spanOf(revision), remaining).map(({ fromMs, toMs }) => {
      return { ...revision, from: new Date(fromMs), to: new Date(toMs) }
    }),
  )
}

export interface ValidityLossContext {
  action: ActionName
  rules: CollectionRules | undefined
  context: RuleContext
  /** True if the caller sent `force`. */
  isForced: boolean
}

/**
 * Returns the warnings about entities that still need the lost periods. Throws `EntityRuleError` if
 * the change is not forced.
 */
export async function lostValidityWarnings(
  lost: readonly RawDocument[],
  { action, rules, context, isForced }: ValidityLossContext,
): Promise<string[]> {
  const warnings: string[] = []
  for (const revision of lost) {
    try {
      await rules?.checkUnused?.(revision, context)
    } catch (error) {
      if (!(error instanceof InUseError)) throw error
      const when = periodText(spanOf(revision), context.zone)
      const needed = `${when} it is needed by ${error.usedBy}`
      if (!isForced && rules?.endsWhileUsed !== true) {
        const help = 'change them first, or repeat the call with force'
        const text = `${action}: ${error.what} would not be valid ${needed}: ${help}`
        throw new EntityRuleError(text, 'refused', DISPLAY.refused)
      }
      warnings.push(`${error.what} is not valid ${needed}`)
    }
  }
  return warnings
}

function periodText({ fromMs, toMs }: RevisionSpan, zone: string): string {
  const from = `from ${dateText(fromMs, zone)}`
  return toMs >= FOREVER_MS ? `${from} on, when` : `${from} to ${dateText(toMs, zone)}, when`
}
