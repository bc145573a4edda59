"""Trains a placed model as a pipeline of processes, by torch.distributed.pipelining, next to the model as it is.

Processes are on the CPU here. On GPUs, take "nccl" as the backend, and torch.device("cuda", stages[rank][0]).
"""
import tempfile

import emplace
import torch
from torch import nn
from torch.distributed import destroy_process_group, init_process_group
from torch.distributed.pipelining import Schedule1F1B, SplitPoint, pipeline

MICRO_BATCHES = 4
RATE = 0.1


def network():
    torch.manual_seed(0)
    layers = [nn.TransformerEncoderLayer(64, 4, 256, dropout=0.0, batch_first=True) for _ in range(6)]
    return nn.Sequential(nn.Embedding(100, 64), *layers, nn.Linear(64, 100))


def batch():
    generator = torch.Generator().manual_seed(1)
    return torch.randint(100, (16, 12), generator=generator), torch.randint(100, (16, 12), generator=generator)


def loss_of(logits, words):
    return nn.functional.cross_entropy(logits.flatten(0, 1), words.flatten())


def train(rank, stages, folder, steps):
    """Runs one stage, and saves its parameters and the losses of the last."""
    torch.set_num_threads(1)
    init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=len(stages))
    words, targets = batch()
    split = {modules[0]: SplitPoint.BEGINNING for _, modules in stages[1:]}
    pipe = pipeline(network(), (words.chunk(MICRO_BATCHES)[0],), split_spec=split)
    stage = pipe.build_stage(rank, torch.device("cpu"))
    schedule = Schedule1F1B(stage, MICRO_BATCHES, loss_fn=loss_of)
    optimizer = torch.optim.SGD(stage.submod.parameters(), RATE)
    history = []
    for _ in range(steps):
        optimizer.zero_grad()
        losses = []
        if rank == 0:
            schedule.step(words)
        elif rank == len(stages) - 1:
            schedule.step(target=targets, losses=losses)
            history.append(torch.stack(losses).mean().item())
        else:
            schedule.step()
        optimizer.step()
    torch.save((dict(stage.submod.named_parameters()), history), f"{folder}/{rank}.pt")
    destroy_process_group()


def train_whole(steps):
    """Does the same with the model as it is."""
    model, history = network(), []
    optimizer = torch.optim.SGD(model.parameters(), RATE)
    words, targets = batch()
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of(model(words), targets)
        loss.backward()
        history.append(loss.item())
        optimizer.step()
    return dict(model.named_parameters()), history


def train_in(stages, steps):
    """Trains in a process for each stage."""
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(train, (stages, folder, steps), len(stages))
        parts = [torch.load(f"{folder}/{rank}.pt") for rank in range(len(stages))]
    return {name: tensor for part, _ in parts for name, tensor in part.items()}, parts[-1][1]


def main(steps=3):
    part = batch()[0].chunk(MICRO_BATCHES)[0]
    placed = emplace.place(network(), part, cluster="p2-8xlarge-2", micro_batches=MICRO_BATCHES, agent="pipeline-dp")
    for device, modules in placed.stages():
        print(f"GPU {device}: {', '.join(modules)}")
    trained, history = train_in(placed.stages(), steps)
    parameters, expected = train_whole(steps)
    for one, whole in zip(history, expected):
        print(f"loss {one:.5f}, of the model as it is {whole:.5f}")
    furthest = max((trained[name] - tensor).abs().max().item() for name, tensor in parameters.items())
    print(f"{len(trained)} of {len(parameters)} parameters, which differ by at most {furthest:.0e}")


if __name__ == "__main__":
    main()
