/** The filter of the list; it takes effect, and gets into the address, when it is sent. */
import '../../parts/filter.css'
import { useState } from 'preact/hooks'
import { linkHere } from '../../frame/routes.ts'
import { Field } from '../../parts/field.tsx'
import { t } from '../../words/words.ts'
import { changesOf, FILTERS, type FilterName, filterIn } from './data.ts'

const NUMBERS: ReadonlySet<FilterName> = new Set(['sid', 'aid', 'open_for'])

export function FilterForm({ query }: { readonly query: Readonly<Record<string, string>> }) {
  const [filter, setFilter] = useState(filterIn(query))
  const apply = (changed: typeof filter) => {
    window.location.hash = linkHere({ ...changesOf(changed), after: null })
  }
  const submit = (event: Event) => {
    event.preventDefault()
    apply(filter)
  }
  return (
    <search>
      <form class="filter" onSubmit={submit} aria-label={t('sessionlist.filter')}>
        {FILTERS.map((name) => (
          <Field
            key={name}
            label={t(`sessionlist.${name}`)}
            value={filter[name]}
            onValue={(value) => setFilter({ ...filter, [name]: value })}
            input={{
              autocomplete: 'off',
              maxLength: 200,
              ...(NUMBERS.has(name) && { inputMode: 'numeric', pattern: ' *[0-9]+ *' }),
            }}
          />
        ))}
        <div class="buttons">
          <button type="submit" class="main">
            {t('sessionlist.apply')}
          </button>
          <button type="button" onClick={() => apply(filterIn({}))}>
            {t('sessionlist.all')}
          </button>
        </div>
      </form>
    </search>
  )
}
