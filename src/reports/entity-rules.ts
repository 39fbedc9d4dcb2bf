/** Rules for saved reports: what is given must be valid; a report without columns is a draft. */
import type { CollectionRules } from '../entities/rules/rule.ts'
import { isChanged } from '../entities/rules/values.ts'
import { checkReport } from './definition.ts'

export const REPORT_RULES: CollectionRules = {
  async check(document, stored) {
    const parts = ['entity', 'type', 'columns', 'conditions', 'sorts', 'formats']
    if (!isChanged(document, stored, ...parts)) return
    // Whether a field is configured is known when the report is run.
    checkReport(document, () => null)
  },
}
