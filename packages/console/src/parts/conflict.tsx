/** Somebody else has saved the revision meanwhile: shows the differences, asks about each clash. */
import './conflict.css'
import { useEffect, useRef } from 'preact/hooks'
import { DOCUMENTS } from '../words/en/documents.ts'
import { addWords, t } from '../words/words.ts'
import type { Choice, Clash, Merge } from './document/values.ts'

addWords(DOCUMENTS)

interface ConflictProps {
  readonly merge: Pick<Merge, 'clashes' | 'theirs'>
  /** User of the other change; null if it is not known. */
  readonly author: string | null
  readonly choices: Readonly<Record<string, Choice>>
  readonly onChoose: (clash: Clash, choice: Choice) => void
  /** Otherwise fields are shown by their path. */
  readonly labelOf?: (field: string) => string
}

export function Conflict({ merge, author, choices, onChoose, labelOf = String }: ConflictProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus(), [merge])
  return (
    <section class="conflict" aria-labelledby="conflict">
      <h3 id="conflict" ref={heading} tabIndex={-1}>
        ▲ {author === null ? t('conflict.title') : t('conflict.titleBy', { author })}
      </h3>
      <p>{t(merge.clashes.length === 0 ? 'conflict.noClash' : 'conflict.choose')}</p>
      {merge.clashes.map((clash) => (
        <fieldset key={clash.field}>
          <legend>{labelOf(clash.field)}</legend>
          {(['mine', 'theirs'] as const).map((choice) => (
            <label key={choice}>
              <input
                type="radio"
                name={`conflict-${clash.field}`}
                required
                checked={choices[clash.field] === choice}
                onChange={() => onChoose(clash, choice)}
              />
              <span>
                {t(`conflict.${choice}`)}: <strong dir="auto">{displayText(clash[choice])}</strong>
              </span>
            </label>
          ))}
        </fieldset>
      ))}
      {merge.theirs.length > 0 && (
        <ul class="listed">
          {merge.theirs.map(({ field, before, after }) => (
            <li key={field} dir="auto">
              {t('conflict.kept', {
                field: labelOf(field),
                before: displayText(before),
                after: displayText(after),
              })}
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

function displayText(text: string | null): string {
  return text === null || text === '' ? '–' : text
}
