/** Differences of two documents as a table: field, before, after. */
import './changes.css'
import { DOCUMENTS } from '../words/en/documents.ts'
import { addWords, t } from '../words/words.ts'
import type { Difference } from './differences.ts'
import { ValueText } from './time.tsx'

addWords(DOCUMENTS)

/** As many fields as anyone reads; a created document has more. */
const FIELDS_SHOWN = 12

interface ChangesProps {
  readonly caption: string
  readonly changes: readonly Difference[]
}

export function Changes({ caption, changes }: ChangesProps) {
  const rest = changes.slice(FIELDS_SHOWN)
  return (
    <>
      <ChangeTable caption={caption} changes={changes.slice(0, FIELDS_SHOWN)} />
      {rest.length > 0 && (
        <details>
          <summary>{t('audit.more', { count: rest.length })}</summary>
          <ChangeTable caption={caption} changes={rest} />
        </details>
      )}
    </>
  )
}

function ChangeTable({ caption, changes }: ChangesProps) {
  return (
    <table class="changes">
      <caption class="hidden">{caption}</caption>
      <thead>
        <tr>
          <th scope="col">{t('audit.field')}</th>
          <th scope="col">{t('audit.before')}</th>
          <th scope="col">{t('audit.after')}</th>
        </tr>
      </thead>
      <tbody>
        {changes.map(({ field, before, after }) => (
          <tr key={field}>
            <th scope="row">{field}</th>
            <td dir="auto">
              <ValueText text={before ?? '—'} />
            </td>
            <td dir="auto">
              <ValueText text={after ?? '—'} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
