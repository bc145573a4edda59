"""Networks of PyTorch by which importers are judged: of torchvision, timm, transformers, diffusers, and our own.

Weights are random. Sizes are small, and each network has the parts of its kind. `ARCHITECTURES` has a function for
each, which returns the model and its example inputs: a tuple of arguments, or a dict of keyword arguments.
"""
import math

import torch
from torch import nn
from torch.nn import functional

ARCHITECTURES = {}

BATCH, PIXELS, TOKENS, WORDS, WIDTH, HEADS, RECURRENT_WIDTH = 2, 64, 24, 120, 64, 4, 128


def architecture(function):
    ARCHITECTURES[function.__name__.replace("_", "-")] = function
    return function


def image(pixels=PIXELS, batch=BATCH):
    return (torch.zeros(batch, 3, pixels, pixels),)


def ids(tokens=TOKENS):
    return torch.zeros(BATCH, tokens, dtype=torch.int64)


# --- torchvision ---------------------------------------------------------------------------------------------------


def blocks_of_resnet(**options):
    from torchvision.models import resnet
    return resnet.ResNet(resnet.Bottleneck, [1, 1, 1, 1], **options), image()


@architecture
def resnet():
    return blocks_of_resnet()


@architecture
def resnext():
    return blocks_of_resnet(groups=32, width_per_group=4)


@architecture
def vgg():
    from torchvision.models import vgg
    layers = vgg.make_layers([32, "M", 64, "M", 64, 64, "M"], batch_norm=False)
    return nn.Sequential(layers, nn.Flatten(), nn.Linear(64 * 64, 256), nn.ReLU(), nn.Dropout(), nn.Linear(256, 10)), \
        image()


@architecture
def inception_v3():
    from torchvision.models import inception
    cells = [inception.InceptionA(32, 16), inception.InceptionB(240), inception.InceptionC(720, 16),
             inception.InceptionD(768), inception.InceptionE(1280)]
    return nn.Sequential(nn.Conv2d(3, 32, 3, 2), *cells, nn.AdaptiveAvgPool2d(1), nn.Dropout(), nn.Flatten(),
                         nn.Linear(2048, 10)), image()


@architecture
def googlenet():
    from torchvision.models.googlenet import Inception
    cells = [Inception(32, 16, 16, 32, 8, 16, 16), Inception(80, 32, 16, 32, 8, 16, 16)]
    return nn.Sequential(nn.Conv2d(3, 32, 7, 2, 3), nn.MaxPool2d(3, 2, ceil_mode=True), *cells,
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(96, 10)), image()


@architecture
def densenet():
    from torchvision.models import DenseNet
    return DenseNet(16, (2, 2, 2), 32), image()


@architecture
def mobilenet_v2():
    from torchvision.models import MobileNetV2
    settings = [[1, 16, 1, 1], [6, 24, 2, 2], [6, 32, 1, 2]]
    return MobileNetV2(inverted_residual_setting=settings), image()


@architecture
def mobilenet_v3():
    from torchvision.models.mobilenetv3 import InvertedResidualConfig, MobileNetV3
    settings = [InvertedResidualConfig(16, 3, 16, 16, True, "RE", 2, 1, 1),
                InvertedResidualConfig(16, 3, 72, 24, False, "RE", 2, 1, 1),
                InvertedResidualConfig(24, 5, 96, 40, True, "HS", 2, 1, 1)]
    return MobileNetV3(settings, 256), image()


@architecture
def efficientnet():
    from torchvision.models.efficientnet import EfficientNet, MBConvConfig
    settings = [MBConvConfig(1, 3, 1, 32, 16, 1), MBConvConfig(6, 3, 2, 16, 24, 2), MBConvConfig(6, 5, 2, 24, 40, 1)]
    return EfficientNet(settings, 0.2, stochastic_depth_prob=0.0), image()


@architecture
def shufflenet():
    from torchvision.models import ShuffleNetV2
    return ShuffleNetV2([2, 1, 1], [24, 48, 96, 192, 256]), image()


@architecture
def squeezenet():
    from torchvision.models.squeezenet import Fire
    layers = [nn.Conv2d(3, 32, 3, 2), nn.ReLU(), nn.MaxPool2d(3, 2, ceil_mode=True), Fire(32, 16, 32, 32),
              Fire(64, 16, 32, 32), nn.Conv2d(64, 10, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return nn.Sequential(*layers), image()


@architecture
def mnasnet():
    from torchvision.models.mnasnet import _stack
    layers = [nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), _stack(16, 24, 3, 2, 3, 2, 0.01),
              _stack(24, 40, 5, 2, 3, 1, 0.01), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(40, 10)]
    return nn.Sequential(*layers), image()


@architecture
def regnet():
    from torchvision.models.regnet import BlockParams, RegNet
    return RegNet(BlockParams([1, 2], [48, 104], [8, 8], [1.0, 1.0], [2, 2], 0.25)), image()


@architecture
def convnext():
    from torchvision.models.convnext import CNBlockConfig, ConvNeXt
    return ConvNeXt([CNBlockConfig(32, 64, 2), CNBlockConfig(64, None, 2)]), image()


@architecture
def swin():
    from torchvision.models.swin_transformer import SwinTransformer
    return SwinTransformer([4, 4], 32, [2, 2], [2, 4], [4, 4], stochastic_depth_prob=0.0), image()


@architecture
def swin_v2():
    from torchvision.models import swin_transformer as swin
    return swin.SwinTransformer([4, 4], 32, [2, 2], [2, 4], [4, 4], stochastic_depth_prob=0.0,
                                block=swin.SwinTransformerBlockV2, downsample_layer=swin.PatchMergingV2), image()


@architecture
def vit():
    from torchvision.models import VisionTransformer
    return VisionTransformer(PIXELS, 16, 2, HEADS, WIDTH, 4 * WIDTH), image()


@architecture
def deeplab_v3():
    from torchvision.models.segmentation.deeplabv3 import DeepLabHead
    backbone = [nn.Conv2d(3, 32, 3, 2, 1), nn.ReLU(), nn.Conv2d(32, 32, 3, 1, 2, 2), nn.ReLU()]
    return nn.Sequential(*backbone, DeepLabHead(32, 8, (6, 12)), nn.Upsample(scale_factor=2, mode="bilinear")), image()


@architecture
def resnet_3d():
    from torchvision.models.video import resnet
    model = resnet.VideoResNet(resnet.BasicBlock, [resnet.Conv3DSimple] * 4, [1, 1, 1, 1], resnet.BasicStem)
    return model, (torch.zeros(1, 3, 8, 56, 56),)


# --- timm ----------------------------------------------------------------------------------------------------------


class ShortNasnet(nn.Module):
    """The stem and the first two cells of NASNet-A, with few filters."""

    def __init__(self, filters=16):
        super().__init__()
        from timm.models import nasnet
        self.stem = nn.Sequential(nn.Conv2d(3, 32, 3, 2, bias=False), nn.BatchNorm2d(32))
        self.cell_0 = nasnet.CellStem0(32, num_channels=filters)
        self.cell_1 = nasnet.CellStem1(32, num_channels=2 * filters)
        self.cell_2 = nasnet.FirstCell(4 * filters, filters, 8 * filters, 2 * filters)
        self.cell_3 = nasnet.NormalCell(8 * filters, 2 * filters, 12 * filters, 2 * filters)
        self.head = nn.Linear(12 * filters, 10)

    def forward(self, x):
        x = self.stem(x)
        x_0 = self.cell_0(x)
        x_1 = self.cell_1(x, x_0)
        x_2 = self.cell_2(x_1, x_0)
        return self.head(self.cell_3(x_2, x_1).relu().mean((2, 3)))


@architecture
def nasnet():
    return ShortNasnet(), image(96)


@architecture
def mlp_mixer():
    from timm.models.mlp_mixer import MlpMixer
    return MlpMixer(img_size=PIXELS, num_blocks=2, embed_dim=WIDTH), image()


@architecture
def convmixer():
    from timm.models.convmixer import ConvMixer
    return ConvMixer(WIDTH, 3), image()


@architecture
def maxvit():
    import timm
    return timm.create_model("maxvit_rmlp_pico_rw_256", depths=(1, 1), embed_dim=(32, 64), stem_width=16,
                             img_size=PIXELS), image()


# --- transformers --------------------------------------------------------------------------------------------------


NO_ATTENTION_DROPOUT = {"attention_dropout": 0.0, "attention_probs_dropout_prob": 0.0, "attn_pdrop": 0.0,
                        "attn_dropout": 0.0}


def configured(name, model, inputs, attention="sdpa", experts=None, **options):
    """Returns what makes a model of transformers, by the names of its configuration and class.

    Attention has no dropout, because the ONNX exporters leave it out.
    """
    def make():
        import transformers
        config = getattr(transformers, name)(**{"use_cache": False, **NO_ATTENTION_DROPOUT, **options})
        config._attn_implementation, config._experts_implementation = attention, experts
        return getattr(transformers, model)(config), inputs() if callable(inputs) else inputs
    return make


SIZES = {"vocab_size": WORDS, "hidden_size": WIDTH, "num_hidden_layers": 2, "num_attention_heads": HEADS,
         "intermediate_size": 4 * WIDTH, "max_position_embeddings": 4 * TOKENS}
EXPERTS = {"num_key_value_heads": 2, "num_local_experts": 4, "num_experts_per_tok": 2}


def words():
    return {"input_ids": ids(), "attention_mask": torch.ones_like(ids())}


ARCHITECTURES.update({
    "bert": configured("BertConfig", "BertForMaskedLM", words, **SIZES),
    "albert": configured("AlbertConfig", "AlbertForMaskedLM", words, embedding_size=32, **SIZES),
    "deberta-v2": configured("DebertaV2Config", "DebertaV2ForMaskedLM", words, "eager", relative_attention=True,
                             pos_att_type="p2c|c2p", **SIZES),
    "gpt2": configured("GPT2Config", "GPT2LMHeadModel", words, vocab_size=WORDS, n_positions=4 * TOKENS, n_embd=WIDTH,
                       n_layer=2, n_head=HEADS, bos_token_id=1, eos_token_id=2),
    "gpt-neox": configured("GPTNeoXConfig", "GPTNeoXForCausalLM", words, **SIZES),
    "llama": configured("LlamaConfig", "LlamaForCausalLM", words, num_key_value_heads=2, **SIZES),
    "gemma-2": configured("Gemma2Config", "Gemma2ForCausalLM", words, "eager", num_key_value_heads=2, head_dim=16,
                          sliding_window=8, **SIZES),
    "qwen-3": configured("Qwen3Config", "Qwen3ForCausalLM", words, num_key_value_heads=2, head_dim=16, **SIZES),
    "mixtral": configured("MixtralConfig", "MixtralForCausalLM", words, experts="batched_mm", **EXPERTS, **SIZES),
    "mixtral-grouped": configured("MixtralConfig", "MixtralForCausalLM", words, experts="grouped_mm", **EXPERTS,
                                  **SIZES),
    "t5": configured("T5Config", "T5ForConditionalGeneration",
                     lambda: {"input_ids": ids(), "decoder_input_ids": ids(16)}, vocab_size=WORDS, d_model=WIDTH,
                     d_kv=16, d_ff=4 * WIDTH, num_layers=2, num_heads=HEADS),
    "bart": configured("BartConfig", "BartForConditionalGeneration",
                       lambda: {"input_ids": ids(), "decoder_input_ids": ids(16)}, vocab_size=WORDS, d_model=WIDTH,
                       encoder_layers=2, decoder_layers=2, encoder_attention_heads=HEADS,
                       decoder_attention_heads=HEADS, encoder_ffn_dim=4 * WIDTH, decoder_ffn_dim=4 * WIDTH,
                       max_position_embeddings=4 * TOKENS),
    "whisper": configured("WhisperConfig", "WhisperForConditionalGeneration",
                          lambda: {"input_features": torch.zeros(BATCH, 80, 64), "decoder_input_ids": ids(16)},
                          vocab_size=WORDS, d_model=WIDTH, encoder_layers=2, decoder_layers=2,
                          encoder_attention_heads=HEADS, decoder_attention_heads=HEADS, encoder_ffn_dim=4 * WIDTH,
                          decoder_ffn_dim=4 * WIDTH, max_source_positions=32, max_target_positions=32, pad_token_id=0,
                          bos_token_id=1, eos_token_id=2, decoder_start_token_id=1),
    "vit-transformers": configured("ViTConfig", "ViTForImageClassification", lambda: {"pixel_values": image()[0]},
                                   image_size=PIXELS, patch_size=16, hidden_size=WIDTH, num_hidden_layers=2,
                                   num_attention_heads=HEADS, intermediate_size=4 * WIDTH, hidden_dropout_prob=0.0),
    "segformer": configured("SegformerConfig", "SegformerForSemanticSegmentation",
                            lambda: {"pixel_values": image()[0]}, num_encoder_blocks=2, depths=[1, 1],
                            sr_ratios=[4, 2], hidden_sizes=[16, 32], patch_sizes=[7, 3], strides=[4, 2],
                            num_attention_heads=[1, 2], mlp_ratios=[4, 4], decoder_hidden_size=32),
})


# --- diffusers -----------------------------------------------------------------------------------------------------


@architecture
def unet_2d_condition():
    from diffusers import UNet2DConditionModel
    model = UNet2DConditionModel(
        sample_size=8, in_channels=4, out_channels=4, block_out_channels=(32, WIDTH), layers_per_block=1,
        norm_num_groups=8, cross_attention_dim=32, attention_head_dim=2,  # the number of heads
        down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"), up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"))
    return model, {"sample": torch.zeros(BATCH, 4, 8, 8), "timestep": torch.tensor([3] * BATCH),
                   "encoder_hidden_states": torch.zeros(BATCH, TOKENS, 32), "return_dict": False}


# --- Written here --------------------------------------------------------------------------------------------------


class SelfAttention(nn.Module):
    """Attention of PyTorch's fused kernel, with fewer heads of keys and values if `groups` says so."""

    def __init__(self, width, heads, groups=None, causal=False):
        super().__init__()
        self.heads, self.groups, self.causal = heads, groups or heads, causal
        self.q = nn.Linear(width, width)
        self.k, self.v = (nn.Linear(width, width // heads * self.groups) for _ in range(2))
        self.out = nn.Linear(width, width)

    def forward(self, x):
        n, t, width = x.shape
        q, k, v = (layer(x).view(n, t, heads, -1).transpose(1, 2)
                   for layer, heads in ((self.q, self.heads), (self.k, self.groups), (self.v, self.groups)))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal,
                                                    enable_gqa=self.groups != self.heads)
        return self.out(y.transpose(1, 2).reshape(n, t, width))


class Decoder(nn.Module):
    """A causal language model of pre-normalized blocks."""

    def __init__(self, attention, feed_forward):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.attentions = nn.ModuleList(attention() for _ in range(2))
        self.feed_forwards = nn.ModuleList(feed_forward() for _ in range(2))
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(5))
        self.head = nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, tokens):
        x = self.words(tokens)
        for index, (attention, feed_forward) in enumerate(zip(self.attentions, self.feed_forwards)):
            x = x + attention(self.norms[2 * index](x))
            x = x + feed_forward(self.norms[2 * index + 1](x))
        return self.head(self.norms[4](x))


def feed_forward():
    return nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))


@architecture
def flash_attention():
    return Decoder(lambda: SelfAttention(WIDTH, HEADS, causal=True), feed_forward), (ids(),)


@architecture
def grouped_queries():
    return Decoder(lambda: SelfAttention(WIDTH, HEADS, 2, causal=True), feed_forward), (ids(),)


class Rotary(SelfAttention):
    """Attention whose queries and keys are turned by their positions, written as products of scores."""

    def __init__(self, width, heads):
        super().__init__(width, heads)
        size = width // heads
        angles = torch.outer(torch.arange(TOKENS).float(), 1e4 ** (-torch.arange(0, size, 2).float() / size))
        angles = torch.cat([angles, angles], -1)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def turned(self, x):
        left, right = x.chunk(2, -1)
        return x * self.cos + torch.cat([-right, left], -1) * self.sin

    def forward(self, x):
        n, t, width = x.shape
        q, k, v = (layer(x).view(n, t, self.heads, -1).transpose(1, 2) for layer in (self.q, self.k, self.v))
        scores = self.turned(q) @ self.turned(k).transpose(-2, -1) / math.sqrt(width // self.heads)
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(n, t, width))


@architecture
def rotary_embedding():
    return Decoder(lambda: Rotary(WIDTH, HEADS), feed_forward), (ids(),)


class Experts(nn.Module):
    """A mixture of experts that all run, weighted by a softmax."""

    def __init__(self, experts=4):
        super().__init__()
        self.router = nn.Linear(WIDTH, experts, bias=False)
        self.up = nn.Parameter(torch.zeros(experts, WIDTH, 2 * WIDTH))
        self.down = nn.Parameter(torch.zeros(experts, 2 * WIDTH, WIDTH))

    def forward(self, x):
        n, t, width = x.shape
        weights = self.router(x).softmax(-1)
        hidden = functional.silu(torch.einsum("ntw,ewh->enth", x, self.up))
        return torch.einsum("enth,ehw,nte->ntw", hidden, self.down, weights)


@architecture
def mixture_of_experts():
    return Decoder(lambda: SelfAttention(WIDTH, HEADS, causal=True), Experts), (ids(),)


class ResidualBlock(nn.Module):
    """A block of a diffusion model: group norm, SiLU, convolution, twice."""

    def __init__(self, before, after):
        super().__init__()
        self.layers = nn.Sequential(nn.GroupNorm(8, before), nn.SiLU(), nn.Conv2d(before, after, 3, padding=1),
                                    nn.GroupNorm(8, after), nn.SiLU(), nn.Conv2d(after, after, 3, padding=1))
        self.skip = nn.Conv2d(before, after, 1) if before != after else nn.Identity()

    def forward(self, x):
        return self.skip(x) + self.layers(x)


class UNet(nn.Module):
    """Down to half the size and up again, with attention in the middle, as diffusion models are."""

    def __init__(self, width=32):
        super().__init__()
        self.first = nn.Conv2d(3, width, 3, padding=1)
        self.left = ResidualBlock(width, width)
        self.down = nn.Conv2d(width, width, 3, stride=2, padding=1)
        self.middle = ResidualBlock(width, 2 * width)
        self.norm = nn.GroupNorm(8, 2 * width)
        self.attention = SelfAttention(2 * width, HEADS)
        self.up = nn.Upsample(scale_factor=2.0, mode="nearest")
        self.right = ResidualBlock(3 * width, width)
        self.last = nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, x):
        left = self.left(self.first(x))
        middle = self.middle(self.down(left))
        n, c, h, w = middle.shape
        tokens = self.norm(middle).flatten(2).transpose(1, 2)
        middle = middle + self.attention(tokens).transpose(1, 2).reshape(n, c, h, w)
        return self.last(self.right(torch.cat([self.up(middle), left], 1)))


@architecture
def unet_attention():
    return UNet(), image(32)


class ConformerBlock(nn.Module):
    """Half a feed-forward layer, attention, a depthwise convolution along time, half a feed-forward layer."""

    def __init__(self):
        super().__init__()
        self.before, self.after = (nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 4 * WIDTH), nn.SiLU(),
                                                 nn.Linear(4 * WIDTH, WIDTH)) for _ in range(2))
        self.attention_norm, self.attention = nn.LayerNorm(WIDTH), SelfAttention(WIDTH, HEADS)
        self.convolution_norm = nn.LayerNorm(WIDTH)
        self.convolution = nn.Sequential(
            nn.Conv1d(WIDTH, 2 * WIDTH, 1), nn.GLU(1), nn.Conv1d(WIDTH, WIDTH, 15, padding=7, groups=WIDTH),
            nn.BatchNorm1d(WIDTH), nn.SiLU(), nn.Conv1d(WIDTH, WIDTH, 1))
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, x):
        x = x + self.before(x) / 2
        x = x + self.attention(self.attention_norm(x))
        x = x + self.convolution(self.convolution_norm(x).transpose(1, 2)).transpose(1, 2)
        return self.norm(x + self.after(x) / 2)


@architecture
def conformer():
    layers = [nn.Linear(80, WIDTH), ConformerBlock(), ConformerBlock(), nn.Linear(WIDTH, WORDS)]
    return nn.Sequential(*layers), (torch.zeros(BATCH, 2 * TOKENS, 80),)


class Dlrm(nn.Module):
    """Recommendations: embeddings of categories, and the products of each pair."""

    def __init__(self, tables=4, rows=100, width=16, features=13):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(rows, width) for _ in range(tables))
        self.bottom = nn.Sequential(nn.Linear(features, 32), nn.ReLU(), nn.Linear(32, width), nn.ReLU())
        pairs = tables * (tables + 1) // 2
        self.register_buffer("rows", torch.tensor([i for i in range(tables + 1) for j in range(i)]))
        self.register_buffer("columns", torch.tensor([j for i in range(tables + 1) for j in range(i)]))
        self.top = nn.Sequential(nn.Linear(width + pairs, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, numbers, categories):
        x = self.bottom(numbers)
        every = torch.stack([x] + [table(categories[:, i]) for i, table in enumerate(self.tables)], 1)
        products = every @ every.transpose(1, 2)
        return self.top(torch.cat([x, products[:, self.rows, self.columns]], 1))


@architecture
def dlrm():
    return Dlrm(), (torch.zeros(16, 13), torch.zeros(16, 4, dtype=torch.int64))


class LanguageModel(nn.Module):
    """Recurrent layers between an embedding and logits."""

    def __init__(self, layer):
        super().__init__()
        self.words, self.layer = nn.Embedding(WORDS, RECURRENT_WIDTH), layer
        self.head = nn.Linear(RECURRENT_WIDTH, WORDS)

    def forward(self, tokens):
        return self.head(self.layer(self.words(tokens))[0])


@architecture
def lstm():
    return LanguageModel(nn.LSTM(RECURRENT_WIDTH, RECURRENT_WIDTH, 2, batch_first=True)), (ids(),)


@architecture
def gru():
    return LanguageModel(nn.GRU(RECURRENT_WIDTH, RECURRENT_WIDTH, 2, batch_first=True)), (ids(),)


class Nmt(nn.Module):
    """Translation: LSTM encoder and decoder, and attention of Luong."""

    def __init__(self):
        super().__init__()
        self.source, self.target = nn.Embedding(WORDS, RECURRENT_WIDTH), nn.Embedding(WORDS, RECURRENT_WIDTH)
        self.encoder = nn.LSTM(RECURRENT_WIDTH, RECURRENT_WIDTH // 2, 1, batch_first=True, bidirectional=True)
        self.decoder = nn.LSTM(RECURRENT_WIDTH, RECURRENT_WIDTH, 1, batch_first=True)
        self.join = nn.Linear(2 * RECURRENT_WIDTH, RECURRENT_WIDTH, bias=False)
        self.head = nn.Linear(RECURRENT_WIDTH, WORDS)

    def forward(self, source, target):
        memory, _ = self.encoder(self.source(source))
        queries, _ = self.decoder(self.target(target))
        weights = torch.bmm(queries, memory.transpose(1, 2)).softmax(-1)
        return self.head(torch.tanh(self.join(torch.cat([torch.bmm(weights, memory), queries], -1))))


@architecture
def nmt():
    return Nmt(), (ids(), ids(16))


@architecture
def nn_transformer():
    model = nn.Transformer(WIDTH, HEADS, 2, 2, 4 * WIDTH, dropout=0.0, batch_first=True)
    return model, (torch.zeros(BATCH, TOKENS, WIDTH), torch.zeros(BATCH, 16, WIDTH))
