/** The roles that actions need, as a matrix; a changed row is a rule in the settings. */
import { useState } from 'preact/hooks'
import { useRead } from '../../api/read.ts'
import { readSession } from '../../api/session.ts'
import { changeSetting, conflictOf, readSetting, type Setting } from '../../api/settings.ts'
import { Changes } from '../../parts/changes.tsx'
import { Conflict } from '../../parts/conflict.tsx'
import { useValidation } from '../../parts/document/validation.ts'
import type { Choice } from '../../parts/document/values.ts'
import { Form, useForm } from '../../parts/form.tsx'
import { announce } from '../../parts/live-region.tsx'
import { missingText } from '../../parts/rights.ts'
import { Problems } from '../../parts/setting-editor.tsx'
import { ReadView } from '../../parts/state.tsx'
import { t } from '../../words/words.ts'
import { RolesMatrix } from './matrix.tsx'
import { type Edit, edited, mergeRules, nameOf, type Rule, rolesIn, withEdit } from './rules.ts'

const CATEGORY = 'permissions'

/** Rules are read by admins only; others see the roles that are needed. */
export function Permissions() {
  const mayRead = missingText('settings/set') === null
  const reading = useRead(`permissions ${mayRead}`, async (signal): Promise<Setting> => {
    return mayRead ? readSetting(CATEGORY, { signal }) : { value: {}, rev: 0 }
  })
  const saved = async () => {
    announce(t('access.rulesSaved'))
    // The roles of the matrix are those of the session.
    await readSession()
    reading.reload()
  }
  return (
    <ReadView reading={reading} rows={20}>
      {(setting) => <Matrix key={setting.rev} setting={setting} onSaved={saved} />}
    </ReadView>
  )
}

function rulesIn({ value }: Setting): readonly Rule[] {
  return ((value ?? {}) as { readonly rules?: readonly Rule[] }).rules ?? []
}

interface MatrixProps {
  readonly setting: Setting
  readonly onSaved: () => Promise<void>
}

interface Other {
  readonly merge: ReturnType<typeof mergeRules>
  readonly author: string
  readonly edits: readonly Edit[]
}

function Matrix({ setting, onSaved }: MatrixProps) {
  const [base, setBase] = useState(setting)
  const [other, setOther] = useState<Other | null>(null)
  const [choices, setChoices] = useState<Readonly<Record<string, Choice>>>({})
  const form = useForm({ edits: [] as readonly Edit[] }, async ({ edits }) => {
    const data = { rules: edited(rulesIn(base), edits) }
    try {
      await changeSetting({ action: 'set', category: CATEGORY, data, rev: base.rev })
    } catch (error) {
      const conflict = await conflictOf(error, CATEGORY)
      if (conflict === null) throw error
      const { present, author } = conflict
      setOther({ merge: mergeRules(rulesIn(base), rulesIn(present), edits), author, edits })
      setChoices({})
      setBase(present)
      throw error
    }
    await onSaved()
  })
  const { edits } = form.values.value
  const rules = edited(rulesIn(base), edits)
  const changes = changedRows(rulesIn(base), rules, edits)
  const trial = { action: 'set', category: CATEGORY, data: { rules } }
  const { errors } = useValidation('api/settings', changes.length === 0 ? null : trial)
  const missing = missingText('settings/set')
  const choose = ({ field }: { readonly field: string }, choice: Choice) => {
    const chosen = { ...choices, [field]: choice }
    setChoices(chosen)
    const left = other?.edits.filter((edit) => chosen[nameOf(edit)] !== 'theirs')
    form.set('edits', left ?? [])
  }
  return (
    <div class="stack">
      <p>{t('access.matrixAbout')}</p>
      {missing !== null && <p id="matrix-missing">{missing}</p>}
      {(changes.length > 0 || other !== null) && (
        <Form
          form={form}
          save={t('access.saveRules')}
          action="settings/set"
          isWide
          beside={
            <button type="button" onClick={() => form.set('edits', [])}>
              {t('access.undo')}
            </button>
          }
        >
          {other !== null && <Conflict {...other} choices={choices} onChoose={choose} />}
          <Changes caption={t('access.ruleChanges')} changes={changes} />
          <Problems problems={errors} />
        </Form>
      )}
      <RolesMatrix rules={rules} onEdit={(edit) => form.set('edits', withEdit(edits, edit))} />
    </div>
  )
}

/** The roles of edited rows, before and after. */
function changedRows(before: readonly Rule[], after: readonly Rule[], edits: readonly Edit[]) {
  const usual = t('access.usual')
  return edits
    .map((edit) => ({
      field: nameOf(edit),
      before: rolesIn(before, edit) || usual,
      after: rolesIn(after, edit) || usual,
    }))
    .filter((each) => each.before !== each.after)
}
