import { Page } from '../../shared/ui/Page'
import { Empty } from '../../shared/ui/states'

export default function PhysicalAsset() {
  return (
    <Page title="PhysicalAsset">
      <Empty title="This screen is being built" />
    </Page>
  )
}
