/** The difference of two revisions. */
import { location, setQuery } from '../../frame/routes.ts'
import { Changes } from '../../parts/changes.tsx'
import { revisionDifferences } from '../../parts/differences.ts'
import { Field } from '../../parts/field.tsx'
import type { Revision } from '../../parts/revisions.ts'
import { formatPeriod, precisionOf } from '../../parts/time.tsx'
import { t } from '../../words/words.ts'

interface CompareProps {
  /** Ordered by `from`. */
  readonly revisions: readonly Revision[]
  readonly selected: Revision
}

export function Compare({ revisions, selected }: CompareProps) {
  const before = revisions[revisions.indexOf(selected) - 1]
  const others = revisions.filter((each) => each !== selected)
  const requested = location.value.query['with']
  const other = others.find(({ _id }) => _id.$id === requested) ?? before ?? others[0]
  if (other === undefined) return <p class="state">{t('catalogue.onlyOne')}</p>
  const [first, second] =
    revisions.indexOf(other) < revisions.indexOf(selected) ? [other, selected] : [selected, other]
  const changes = revisionDifferences(first, second)
  const precision = precisionOf(revisions)
  const periodOf = (revision: Revision) => formatPeriod(revision, precision)
  const caption = t('catalogue.between', { before: periodOf(first), after: periodOf(second) })
  return (
    <>
      <Field
        label={t('catalogue.compareWith')}
        value={other._id.$id}
        onValue={(id) => setQuery({ with: id })}
        choices={others.map((each) => ({ value: each._id.$id, label: periodOf(each) }))}
      />
      <p>{caption}</p>
      {changes.length === 0 ? (
        <p class="state">{t('catalogue.same')}</p>
      ) : (
        <Changes caption={caption} changes={changes} />
      )}
    </>
  )
}
