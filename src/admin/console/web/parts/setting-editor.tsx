/**
 * Edits a setting as JSON: the API checks it while it is typed, the changes are shown before they
 * are saved, and another one's change is never overwritten unseen.
 */
import './conflict.css'
import './setting-editor.css'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { pause } from '../api/clock.ts'
import { type FieldError, Refusal } from '../api/errors.ts'
import { parseDocument } from '../api/figures.ts'
import { changeSetting, conflictOf, type Setting, type SettingConflict } from '../api/settings.ts'
import { SETTINGS } from '../words/en/settings.ts'
import { addWords, t } from '../words/words.ts'
import { Changes } from './changes.tsx'
import { differences } from './differences.ts'
import { Form, useForm } from './form.tsx'
import { missingText } from './rights.ts'
import { formatTime } from './time.tsx'

addWords(SETTINGS)

/** The part of the value of a category that is edited, and how it is put back. */
export interface Part {
  of(value: unknown): unknown
  /** Path and data of the change, from the present value of the category. */
  put(value: unknown, part: unknown): { readonly path: string; readonly data: unknown }
}

const WHOLE: Part = { of: (value) => value, put: (_, data) => ({ path: '', data }) }
const CHECK_AFTER_MS = 400
const ROWS_MAX = 32

interface EditorProps {
  readonly category: string
  readonly setting: Setting
  readonly label: string
  readonly part?: Part
  readonly onSaved: () => void
}

export function SettingEditor({ category, setting, label, part = WHOLE, onSaved }: EditorProps) {
  const [base, setBase] = useState(setting)
  const [conflict, setConflict] = useState<SettingConflict | null>(null)
  const initial = documentText(part.of(setting.value))
  const form = useForm({ text: initial }, async ({ text }) => {
    const typed = typedIn(text)
    if (typed.problem !== null) throw new Refusal('refused', 0, typed.problem)
    const change = { action: 'set', category, rev: base.rev } as const
    try {
      await changeSetting({ ...change, ...part.put(base.value, typed.value) })
    } catch (error) {
      setConflict(await conflictOf(error, category, base.rev))
      throw error
    }
    onSaved()
  })
  const { text } = form.values.value
  const typed = useMemo(() => typedIn(text), [text])
  const isChanged = text !== initial
  const checked = isChanged && typed.problem === null ? text : null
  const fields = useSettingCheck(category, checked, () => part.put(base.value, typed.value))
  const rebase = ({ present }: SettingConflict, isMine: boolean) => {
    if (!isMine) form.set('text', documentText(part.of(present.value)))
    setBase(present)
    setConflict(null)
  }
  const problems =
    typed.problem === null ? fields : [{ path: '', reason: typed.problem } satisfies FieldError]
  return (
    <div class="setting-editor">
      <Form form={form} save={t('settings.save')} action="settings/set">
        {conflict !== null && (
          <SettingConflictView before={base} conflict={conflict} onChoose={rebase} />
        )}
        <textarea
          class="id"
          aria-label={label}
          aria-invalid={problems.length > 0}
          aria-describedby="setting-problems"
          spellcheck={false}
          readOnly={missingText('settings/set') !== null}
          rows={Math.min(ROWS_MAX, text.split('\n').length + 1)}
          value={text}
          onInput={(event) => form.set('text', event.currentTarget.value)}
        />
        <Problems problems={problems} />
        {isChanged && typed.problem === null && (
          <Changes
            caption={t('settings.changes')}
            changes={differences(part.of(base.value), typed.value)}
          />
        )}
      </Form>
    </div>
  )
}

/** Described by `setting-problems`. */
export function Problems({ problems }: { readonly problems: readonly FieldError[] }) {
  return (
    <ul id="setting-problems" class="problems">
      {problems.map(({ path, reason }) => (
        <li key={path}>
          <span class="id">{path}</span> {reason}
        </li>
      ))}
    </ul>
  )
}

/** What the API finds wrong with what is typed; nothing before it has answered. */
export function useSettingCheck(
  category: string,
  text: string | null,
  change: () => { readonly path: string; readonly data: unknown },
): readonly FieldError[] {
  const [fields, setFields] = useState<readonly FieldError[]>([])
  useEffect(() => {
    if (text === null || missingText('settings/set') !== null) return setFields([])
    const controller = new AbortController()
    const check = async () => {
      await pause(CHECK_AFTER_MS, controller.signal)
      const trial = { action: 'set', category, validate: true, ...change() } as const
      await changeSetting(trial, controller.signal)
    }
    check().then(
      () => setFields([]),
      (error: unknown) => {
        if (!controller.signal.aborted) setFields(problemsOf(error))
      },
    )
    return () => controller.abort()
  }, [text])
  return fields
}

function problemsOf(error: unknown): readonly FieldError[] {
  if (!(error instanceof Refusal)) throw error
  return error.fields.length > 0 ? error.fields : [{ path: '', reason: error.text }]
}

interface ConflictProps {
  readonly before: Setting
  readonly conflict: SettingConflict
  readonly onChoose: (conflict: SettingConflict, isMine: boolean) => void
}

export function SettingConflictView({ before, conflict, onChoose }: ConflictProps) {
  const { present, by } = conflict
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus(), [])
  return (
    <section class="conflict" aria-labelledby="setting-conflict">
      <h3 id="setting-conflict" ref={heading} tabIndex={-1}>
        ▲{' '}
        {t('settings.conflict', {
          author: by?.changed_by ?? '?',
          time: by === null ? '?' : formatTime(by.changed, 'second'),
          rev: present.rev,
        })}
      </h3>
      <Changes caption={t('settings.theirs')} changes={differences(before.value, present.value)} />
      <p>{t('settings.conflictAbout')}</p>
      <div class="buttons">
        <button type="button" onClick={() => onChoose(conflict, false)}>
          {t('settings.takeTheirs')}
        </button>
        <button type="button" onClick={() => onChoose(conflict, true)}>
          {t('settings.keepMine')}
        </button>
      </div>
    </section>
  )
}

export function documentText(value: unknown): string {
  return value === null || value === undefined ? '{}' : JSON.stringify(value, null, 2)
}

function typedIn(text: string): { value: unknown; problem: string | null } {
  try {
    const { value, inexact } = parseDocument(text)
    const problem = inexact === null ? null : t('settings.inexact', { number: inexact })
    return { value, problem }
  } catch (error) {
    return { value: null, problem: t('settings.noJson', { reason: String(error) }) }
  }
}
